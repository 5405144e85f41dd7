"""Routes of rules for counterparties. A user's token manages the user's own; a client's, those for all users of the tenant."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Path
from starlette.responses import Response

from analytics import trees
from analytics.tagging.corrections import name_key
from api.http.authorization import TokenKind, needs
from api.http.errors import Problem, wrong
from api.http.mistakes import mistake
from api.http.responses import Links, empty_response, json_response, self_relation
from api.http.route import router
from api.routes.corrections import TREE, category_of
from api.schemas.corrections import NewRule, RuleBody
from api.schemas.languages import Text
from api.services import AppServices
from pipelines.results.documents.tags import tag_tree_item
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.tables import CategoryRule
from warehouse.stores import rules
from warehouse.stores.callers import Caller

routes = router("/ai/v1/rules", "Analysis platform")
Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.ANY)]
Modifies = Annotated[Caller, needs(scopes.CUSTOMER_MODIFY, TokenKind.ANY)]
ONE_OF_BOTH = Text("eine der beiden Angaben wird gebraucht", "one of the two is required")
RuleKey = Annotated[str, Path(examples=["6a0b1f5e-3c0d-4b7e-9a52-0d7b0a3f9c11"])]


@routes.get("", response_model=list[RuleBody])
def list_rules(caller: Reads, services: AppServices) -> Response:
    """All rules, the newest first."""
    with services.database.reading_for(caller.tenant_id, caller.user_id) as owner:
        return json_response(services.zone, [_body(services.links, rule) for rule in rules.visible(owner)])


@routes.post("", status_code=201, response_model=RuleBody, responses={409: {}})
async def create_rule(new: NewRule, caller: Modifies, services: AppServices) -> Response:
    """Makes a rule for all bookings of a counterparty. One that there is for the same counterparty gets the new category."""
    item = category_of(new.item, "tagTreeItem")
    if not (new.iban or new.name):
        raise Problem(400, mistakes=[mistake(name, ONE_OF_BOTH) for name in ("counterpartyIban", "counterpartyName")])

    def change() -> dict[str, Any]:
        key = name_key(new.name)
        if new.name and not key:
            raise wrong("counterpartyName", Text("enthält keinen Namen", "contains no name"), sent_value=new.name)
        with services.database.changing_for(caller.tenant_id, caller.user_id) as owner:
            return _body(services.links, rules.put(owner, item, iban=new.iban, name=new.name, name_key=key))

    body = await services.changes.insist(change)
    return json_response(services.zone, body, 201, {"Location": _link(services.links, body["id"])})


@routes.get("/{rule}", response_model=RuleBody)
def get_rule(rule: RuleKey, caller: Reads, services: AppServices) -> Response:
    """One rule."""
    with services.database.reading_for(caller.tenant_id, caller.user_id) as owner:
        return json_response(services.zone, _body(services.links, rules.find(owner, _id(rule))))


@routes.delete("/{rule}", response_class=Response)
async def delete_rule(rule: RuleKey, caller: Modifies, services: AppServices) -> Response:
    """Ends a rule: what it has decided is decided without it."""

    def change() -> None:
        with services.database.changing_for(caller.tenant_id, caller.user_id) as owner:
            rules.remove(owner, _id(rule))

    await services.changes.insist(change)
    return empty_response()


def _body(links: Links, rule: CategoryRule) -> dict[str, Any]:
    tree = trees.tree(TREE)
    return {
        "id": str(rule.id),
        "tagTreeItem": tag_tree_item(links.base_url, tree, tree.item(rule.item)),
        "counterpartyIban": rule.counterparty_iban,
        "counterpartyName": rule.counterparty_name,
        "relations": self_relation(_link(links, str(rule.id))),
    }


def _link(links: Links, rule_id: str) -> str:
    return links.to("ai", "v1", "rules", rule_id)


def _id(value: str) -> UUID:
    """The id of a rule; anything but a UUID names none."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("rule") from error
