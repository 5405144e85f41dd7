"""What is told after an action, by the key that stands in the address of the page behind it."""

from api.schemas.languages import Text

NOTICES = {
    "tenant_disabled": Text("Der Mandant ist gesperrt.", "The tenant is disabled."),
    "tenant_enabled": Text("Der Mandant ist wieder frei.", "The tenant is enabled again."),
    "client_disabled": Text("Der Client ist gesperrt.", "The client is disabled."),
    "client_enabled": Text("Der Client ist wieder frei.", "The client is enabled again."),
    "key_disabled": Text("Der Schlüssel ist gesperrt.", "The key is disabled."),
    "key_enabled": Text("Der Schlüssel ist wieder frei.", "The key is enabled again."),
    "user_deactivated": Text("Der Benutzer ist deaktiviert.", "The user is deactivated."),
    "event_replayed": Text("Das Ereignis wird erneut gesendet.", "The event is being sent again."),
    "events_replayed": Text(
        "Die verworfenen Ereignisse, deren Gegenstand es noch gibt, werden erneut gesendet.",
        "The dropped events whose subject still exists are being sent again.",
    ),
    "payment_settled": Text("Das Ergebnis der Zahlung ist eingetragen.", "The outcome of the payment is recorded."),
    "payment_looked_up": Text("Die Bank wird nach der Zahlung gefragt.", "The bank is being asked about the payment."),
    "account_disabled": Text("Das Konto ist gesperrt.", "The account is disabled."),
    "account_enabled": Text("Das Konto ist wieder frei.", "The account is enabled again."),
    "password_changed": Text(
        "Das Passwort ist geändert. Andere Anmeldungen dieses Kontos sind beendet.",
        "The password has changed. Other logins of this account have ended.",
    ),
}
ACTIONS = {
    "login": Text("angemeldet", "logged in"),
    "login_refused": Text("Anmeldung abgelehnt", "login refused"),
    "logout": Text("abgemeldet", "logged out"),
    "password_changed": Text("Passwort geändert", "password changed"),
    "password_reset": Text("Passwort neu gesetzt", "password reset"),
    "code_set": Text("zweiter Faktor eingerichtet", "second factor set up"),
    "code_removed": Text("zweiter Faktor entfernt", "second factor removed"),
    "account_added": Text("Konto angelegt", "account added"),
    "account_disabled": Text("Konto gesperrt", "account disabled"),
    "account_enabled": Text("Konto freigegeben", "account enabled"),
    "tenant_disabled": Text("Mandant gesperrt", "tenant disabled"),
    "tenant_enabled": Text("Mandant freigegeben", "tenant enabled"),
    "client_disabled": Text("Client gesperrt", "client disabled"),
    "client_enabled": Text("Client freigegeben", "client enabled"),
    "client_secret_rotated": Text("Geheimnis des Clients erneuert", "client secret rotated"),
    "key_disabled": Text("API-Schlüssel gesperrt", "API key disabled"),
    "key_enabled": Text("API-Schlüssel freigegeben", "API key enabled"),
    "key_rotated": Text("API-Schlüssel erneuert", "API key rotated"),
    "user_deactivated": Text("Benutzer deaktiviert", "user deactivated"),
    "webhook_secret_rotated": Text("Geheimnis des Webhooks erneuert", "webhook secret rotated"),
    "event_replayed": Text("Ereignis erneut gesendet", "event sent again"),
    "events_replayed": Text("verworfene Ereignisse erneut gesendet", "dropped events sent again"),
    "payment_settled": Text("Zahlung geklärt", "payment settled"),
    "payment_looked_up": Text("Bank nach Zahlung gefragt", "bank asked about payment"),
}
"""The actions of the audit log in words."""
