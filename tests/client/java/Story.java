import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import kontor.ApiClient;
import kontor.api.AnalysesApi;
import kontor.api.CustomerApi;
import kontor.api.TokensApi;
import kontor.model.AffordabilityOrNothing;
import kontor.model.BankAccess;
import kontor.model.BankProduct;
import kontor.model.Contract;
import kontor.model.GrantType;
import kontor.model.ProductCategory;
import kontor.model.TagView;
import kontor.model.Transaction;

/** What a tenant does first with its client: a token, the accesses, bookings with tags, two analyses. Prints what it has read. */
public class Story {
  public static void main(String[] arguments) throws Exception {
    Map<String, String> environment = System.getenv();
    String[] app = environment.get("APP").split(":", 2);
    ApiClient client = new ApiClient().setBasePath(environment.get("API"));
    client.setUsername(app[0]);
    client.setPassword(app[1]);
    String user = environment.get("DEMO_USER"), password = environment.get("DEMO_PASSWORD");
    client.setAccessToken(new TokensApi(client).issueToken(GrantType.PASSWORD, null, null, null, user, password).getAccessToken());

    CustomerApi customer = new CustomerApi(client);
    AnalysesApi analyses = new AnalysesApi(client);
    Map<String, BankAccess> accesses = customer.listAccesses(null, null);
    BankAccess access = accesses.values().iterator().next();
    String account = null;
    for (BankProduct product : access.getBankprodukte()) {
      if (product.getKategorie() == ProductCategory.GIROKONTO) account = product.getId();
    }
    List<String> categories = new ArrayList<>();
    for (Transaction booking :
        customer.listTransactions(access.getId(), account, null, null, 5, null, TagView.CATEGORIES, null, null, null, null)) {
      categories.add(booking.getTags().get(0).getTagTreeItem().getSystemName());
    }
    List<String> contracts = new ArrayList<>();
    for (Contract contract : analyses.listContracts(null, null, null, null, null, null)) {
      contracts.add(contract.getDetails().getStatus().getValue());
    }
    AffordabilityOrNothing affordability = analyses.getAffordability(null, null, null, null);

    Map<String, Object> story = new LinkedHashMap<>();
    story.put("accesses", accesses.keySet());
    story.put("categories", categories);
    story.put("contracts", contracts);
    story.put("income", affordability.getDetails() == null ? null : affordability.getDetails().getIncome().getAmount());
    System.out.println(new ObjectMapper().writeValueAsString(story));
  }
}
