/** Rows about loading files for the table of every command and every exit code. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from './notification-rows.ts'

/** Files to load, in a folder that is empty. */
export function makeLoadFiles(folder: string): Record<string, string> {
  const [csv, morecsv, badcsv, json] = ['gear.csv', 'more.csv', 'bad.csv', 'gear.json'].map((name) =>
    join(folder, name),
  )
  writeFileSync(morecsv!, 'sku,name,description\nL1,Lamp,Glows\n')
  writeFileSync(csv!, 'sku,name,description\nT1,Tent,A light tent\nS1,Stove,Burns wood\n')
  writeFileSync(badcsv!, 'sku,name,description\nT1,Tent,A light tent\nS1\nT1,Tent,Twice\n')
  writeFileSync(json!, '{}')
  const [docs, nodocs] = ['handbook', 'pictures'].map((name) => join(folder, name))
  for (const each of [docs!, nodocs!]) mkdirSync(each)
  writeFileSync(join(docs!, 'leave.md'), '# Leave\n\nEverybody has 25 days.\n')
  for (const each of [docs!, nodocs!]) writeFileSync(join(each, 'logo.png'), 'x')
  return { csv: csv!, morecsv: morecsv!, badcsv: badcsv!, json: json!, docs: docs!, nodocs: nodocs! }
}

const NO_LOAD = 'lod_0mwhkcyh5nlh1pqqssy5gj19q'

/** Into the database `orders`; documents into one of their own. */
export const LOAD_ROWS: Row[] = [
  ['docs create papers', 0, /db_papers[^]*svc docs sync papers/],
  ['docs create papers', 6, /already exists/],
  ['docs create Papers', 5, /error: /],
  ['docs create other --context ro', 3, /error: /],
  [
    'docs sync papers {docs}',
    0,
    /documents: +1[^]*1 added[^]*Left out 1 file:\n +logo.png: Only .md[^]*svc open datasources db_papers/,
  ],
  ['docs sync papers {docs}', 0, /Nothing has changed: 1 document/],
  ['docs sync papers {nodocs}', 5, /There are no documents in/],
  ['docs sync papers nowhere', 5, /There is no folder/],
  ['docs sync papers {docs} --git', 5, /git tracks nothing/],
  ['docs sync orders {docs}', 6, /does not hold documents/],
  ['docs sync nothing {docs}', 4, /svc db list/],
  ['docs sync papers {docs} --context ro', 3, /error: /],
  ['docs undo papers', 6, /no version before/],
  ['docs undo', 5, /requires <name>/],
  ['docs undo nothing', 4, /svc db list/],
  ['docs undo papers --context ro', 3, /error: /],
  ['docs status papers', 0, /source_id: +db_papers[^]*documents: +1/],
  ['docs status orders', 6, /does not hold documents/],
  ['docs status', 5, /requires <name>/],
  ['docs status nothing', 4, /svc db list/],
  ['docs status papers --context ro', 3, /error: /],
  [
    'db load orders {csv} --id sku --title name --embed description',
    0,
    /"table": "orders",[^]*"content_columns": "sku,name,description"[^]*Loaded 2 rows into table orders of orders/,
  ],
  ['db load orders {csv} --id sku --embed description', 6, /Table orders cannot take this file/],
  [
    'db load orders {csv} --id sku --embed name,description --table gear --save',
    0,
    /^LOAD +FILE +TABLE +STATE[^]*lod_\w+ +gear.csv +gear +succeeded +2[^]*svc open datasources db_orders/,
  ],
  [
    'db load orders {badcsv} --id sku --embed description --table bad',
    5,
    /Nothing was loaded[^]*line 3: the row has 1 value, and the header has 3[^]*line 4: the id is that of line 2/,
  ],
  ['db load orders {csv} --embed nothing --table more', 5, /the file has no column nothing/],
  // The table is there, and nobody said what becomes of its rows.
  ['db load orders {csv}', 6, /Table orders cannot take this file[^]*Choose another table, or append/],
  [
    'db load orders {csv} --table words',
    0,
    /No column was embedded: rows are found by words and filters only/,
  ],
  ['db load orders {json} --embed x', 5, /line 1: the file is no list of JSON objects with names/],
  ['db load orders {docs}/logo.png --embed x', 5, /must be CSV, NDJSON, JSON, XLSX or Parquet[^]*\.csv, /],
  ['db load orders nowhere.csv --embed x', 5, /There is no file/],
  ['db load nothing {csv} --embed description', 4, /svc db list/],
  ['db load orders {csv} --embed description --context ro', 3, /error: /],
  // Of another machine, or another person on it.
  [
    'db reload orders --table gear',
    5,
    /No file was loaded into table gear from this machine[^]*svc db reload orders <file>/,
    { env: { XDG_CONFIG_HOME: '/nowhere', SVC_API_URL: '{origin}', SVC_API_KEY: '{owner}' } },
  ],
  ['db reload orders --table gear --dry-run', 0, /0 new, 0 changed, 0 gone[^]*Nothing was changed/],
  ['db reload orders --table nothing', 4, /There is no such load/],
  ['db reload nothing', 4, /svc db list/],
  ['db reload orders --context ro', 3, /error: /],
  ['db undo orders', 4, /There is no such load/],
  [
    'db load orders {morecsv} --id sku --embed name,description --table gear --append',
    0,
    /Loaded 1 rows into table gear/,
  ],
  ['db reload orders --table gear', 6, /has added rows to table gear[^]*--replace, or --upsert/],
  ['db undo orders --table gear', 0, /Table gear is as it was before more.csv/],
  ['db reload orders --table gear --dry-run', 0, /0 new, 0 changed, 0 gone/],
  ['db undo', 5, /requires <name>/],
  ['db undo orders --context ro', 3, /error: /],
  ['db loads orders', 0, /^LOAD +FILE +TABLE +STATE +ROWS +SIZE[^]*bad.csv +bad +failed/],
  ['db loads orders --limit x', 5, /Invalid value for --limit/],
  ['db loads nothing', 4, /svc db list/],
  ['db loads orders --context ro', 3, /error: /],
  [`db loads orders --cancel ${NO_LOAD}`, 4, /Not found/],
]

/** A line for every command that calls the server. */
export const LOAD_LINES = [
  'db load orders {csv} --embed description',
  'db loads orders',
  'db reload orders',
  'db undo orders',
  'docs create papers',
  'docs sync papers {docs}',
  'docs status papers',
  'docs undo papers',
]

export const LOAD_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'db undo': { exits: [6], because: 'needs two versions: test/walks/loads.test.ts' },
  'docs undo': { exits: [0], because: 'needs two versions: test/walks/documents.test.ts' },
  'db loads': { exits: [6], because: 'needs a load that is just finishing: test/walks/loads.test.ts' },
}
