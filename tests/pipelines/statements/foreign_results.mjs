// What packages of npm read from the samples of their own tests, as JSON: {"lib-fints": […], "mt940js": […]}, each with its content.
// Their tests are run with parsers that remember what they are given. The argument is the folder into which npm has installed them.

import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const modules = join(process.argv[2], 'node_modules');
const day = (date) => (date && !Number.isNaN(date.getTime()) ? date.toLocaleDateString('sv') : null);
const balance = (value) => value && { ...value, date: day(value.date) };

async function libFints() {
  const samples = [];
  for (const [name, file] of [['CamtParser', 'camtParser'], ['Mt940Parser', 'mt940parser']]) {
    const { [name]: Parser } = await import(pathToFileURL(join(modules, 'lib-fints', 'dist', `${file}.js`)));
    class Remembering extends Parser {
      constructor(content) { super(content); contents.push(content); }
    }
    const contents = [];
    const source = readFileSync(join(modules, 'lib-fints', 'dist', 'tests', `${file}.test.js`), 'utf8').replace(/^import .*$/gm, '');
    const anything = () => new Proxy(anything, { get: () => anything });
    const tried = (_, body) => { try { body(); } catch { /* a sample that they refuse */ } };
    new Function('describe', 'it', 'expect', name, source)((_, body) => body(), tried, anything, Remembering);
    for (const content of contents) samples.push({ content, ...result(() => new Parser(content).parse().map(fintsStatement)) });
  }
  return samples;
}

const fintsStatement = (statement) => ({
  ...statement,
  openingBalance: balance(statement.openingBalance),
  closingBalance: balance(statement.closingBalance),
  transactions: statement.transactions.map((line) => ({ ...line, valueDate: day(line.valueDate), entryDate: day(line.entryDate) })),
});

function mt940js() {
  const require = createRequire(join(modules, 'x.js'));
  const { Parser } = require('mt940js');
  const folder = join(modules, 'mt940js', 'test');
  const files = readdirSync(folder).filter((name) => /\.mt940x?$/.test(name)).sort();
  return files.map((name) => {
    const content = readFileSync(join(folder, name), 'utf8');
    return { content, ...result(() => new Parser().parse(content).map((statement) => JSON.parse(JSON.stringify(statement)))) };
  });
}

function result(parse) {
  try { return { statements: parse() }; } catch (error) { return { error: String(error) }; }
}

console.log(JSON.stringify({ 'lib-fints': await libFints(), mt940js: mt940js() }));
