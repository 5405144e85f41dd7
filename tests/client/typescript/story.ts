// What a tenant does first with its client: a token, the accesses, bookings with tags, two analyses. Prints what it has read.

import createClient from "openapi-fetch";
import { GrantType, ProductCategory, TagView, type paths } from "./kontor.js";

declare const process: { env: Record<string, string> };
const { API, APP, DEMO_USER, DEMO_PASSWORD } = process.env;

/** The body of an answer of 200; fails with the error otherwise. */
function read<Body>(answer: { data?: Body; error?: unknown }): Body {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const form = { grant_type: GrantType.password, username: DEMO_USER!, password: DEMO_PASSWORD! };
const issuer = createClient<paths>({ baseUrl: API!, headers: { Authorization: `Basic ${btoa(APP!)}` } });
const headers = { "Content-Type": "application/x-www-form-urlencoded" };
const token = read(await issuer.POST("/auth/oauth2/token", { body: form, headers }));
const kontor = createClient<paths>({ baseUrl: API!, headers: { Authorization: `Bearer ${token.access_token}` } });

const accesses = read(await kontor.GET("/customer/v2/bankzugaenge"));
const [access] = Object.values(accesses);
const account = access!.bankprodukte.find((product) => product.kategorie === ProductCategory.GIROKONTO);
const bookings = read(
  await kontor.GET("/customer/v2/bankzugaenge/{access}/{product}/kontoumsaetze", {
    params: { path: { access: access!.id, product: account!.id }, query: { tag: TagView.categories, limit: 5 } },
  }),
);
const contracts = read(await kontor.GET("/customer/v2/ai/contracts"));
const affordability = read(await kontor.GET("/customer/v2/ai/affordability"));

console.log(
  JSON.stringify({
    accesses: Object.keys(accesses),
    categories: bookings.map((booking) => booking.tags?.[0]?.tagTreeItem.systemName),
    contracts: contracts.map((contract) => contract.details.status),
    income: "details" in affordability ? affordability.details.income.amount : null,
  }),
);
