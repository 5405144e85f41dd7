// Logs in with lib-fints, lists the accounts and reads their bookings: `node lib_fints.mjs URL BLZ USER PIN TAN DAYS`, in a folder
// in which lib-fints is installed. Prints JSON: IBAN, balance in cents and the amounts of bookings in cents for each account.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const entry = createRequire(`${process.cwd()}/`).resolve.paths('lib-fints')[0];
const { FinTSClient, FinTSConfig } = await import(pathToFileURL(`${entry}/lib-fints/dist/index.js`));
const [url, blz, user, pin, tan, days] = process.argv.slice(2);
const cents = (amount) => Math.round(amount * 100);

async function confirmed(response, again) {
  for (let polls = 0; response.requiresTan && polls < 20; polls++) {
    response = await again(response.tanReference, tan);
  }
  if (!response.success || response.requiresTan) {
    throw new Error(JSON.stringify(response.bankAnswers));
  }
  return response;
}

const client = new FinTSClient(FinTSConfig.forFirstTimeUse('KONTORTEST0123456789ABCDE', '1.0', url, blz, user, pin));
let sync = await confirmed(await client.synchronize(), (reference, given) => client.synchronizeWithTan(reference, given));
client.selectTanMethod(sync.bankingInformation.bpd.availableTanMethodIds[0]);
sync = await confirmed(await client.synchronize(), (reference, given) => client.synchronizeWithTan(reference, given));
const since = new Date(Date.now() - Number(days) * 86400000);
const accounts = [];
for (const account of sync.bankingInformation.upd.bankAccounts) {
  const number = account.accountNumber;
  if (!client.canGetAccountStatements(number)) continue;
  const balance = await confirmed(await client.getAccountBalance(number), (reference, given) =>
    client.getAccountBalanceWithTan(reference, given));
  const amounts = {};
  for (const [name, prefersCamt] of [['camt', true], ['mt940', false]]) {
    const response = await confirmed(
      await client.getAccountStatements(number, since, new Date(), prefersCamt),
      (reference, given) => client.getAccountStatementsWithTan(reference, given));
    amounts[name] = response.statements.flatMap((statement) => statement.transactions.map((line) => cents(line.amount)));
  }
  accounts.push({ iban: account.iban ?? '', number, balance: cents(balance.balance.balance), ...amounts });
}
console.log(JSON.stringify(accounts));
