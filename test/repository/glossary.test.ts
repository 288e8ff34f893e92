/** docs/glossary.md: one word for one thing, in code, tables, paths, pages and texts. */
import { describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { wrongWordsInDoc, wrongWordsInPaths, wrongWordsInSources, wrongWordsInTables } from './glossary.ts'
import { filesUnder, readText, readTree, treeOf } from './source-tree.ts'

const ROWS = [
  ...readText('docs/glossary.md').matchAll(/^\| ([^|]+) \| ([^|]+) \| *(?:`(\w+)_`)? *\|$/gm),
].map(([, word = '', meaning = '', prefix]) => ({ word, meaning, prefix }))

const PREFIXES = [
  ...(/const PREFIXES = \[([^\]]+)\]/.exec(readText('src/contracts/ids.ts'))?.[1] ?? '').matchAll(/'(\w+)'/g),
].map(([, prefix = '']) => prefix)

/** Ids of things that people have no word for. */
const WITHOUT_WORD = {
  trs: 'a stream of the trail',
  rct: 'a receipt of an ending of access, in the row of audit trail',
  apt: 'a token of an app',
  wlb: 'a service account that is bound to an app',
  chr: 'a run of a check',
  crd: 'a credential of a machine agent',
  evl: 'an eval of a data source, in its row',
  grp: 'a group of members, in the row of member',
  idc: 'a client that an organization made for its identity provider',
  idl: 'who a subject of an identity provider is',
  idn: 'an identity at a provider',
  lgl: 'a log line',
  lgr: 'a group of log lines',
  lod: 'a load of a file into a table',
  prn: 'a run of a pipeline',
  rcv: 'deliveries being sent again',
  ref: 'an assertion that was refused',
  req: 'a request',
  rpl: 'a reply to a ticket',
  scb: 'a SCIM bearer, in the row of member',
  scp: 'a provisioned person, in the row of member',
  tkr: 'tokens of a language model that are set aside',
}

describe('the table', () => {
  test('has at most forty rows, each word once', () => {
    expect(ROWS.length).toBeGreaterThan(30)
    expect(ROWS.length).toBeLessThanOrEqual(40)
    expect(new Set(ROWS.map(({ word }) => word)).size).toBe(ROWS.length)
  })

  test.each(
    'integration, subscription, event, notification, delivery, message, attempt, support session, principal, grant, client, organization, member, data source, managed database, revision, deployment, check, pipeline, run, finding, proposal'.split(
      ', ',
    ),
  )('has %s', (word) => {
    expect(ROWS.map((row) => row.word)).toContain(word)
  })

  test('has the prefixes of src/contracts/ids.ts', () => {
    const inTable = ROWS.flatMap(({ prefix }) => prefix ?? [])
    expect(new Set(inTable).size).toBe(inTable.length)
    expect(PREFIXES.length).toBeGreaterThan(15)
    expect([...inTable, ...Object.keys(WITHOUT_WORD)].toSorted()).toEqual(PREFIXES.toSorted())
  })
})

describe('the words', () => {
  // Every word of two thousand files.
  test('of the sources', { timeout: 120_000 }, () => {
    expect(wrongWordsInSources(readTree())).toEqual([])
  })

  test('of the tables', () => {
    expect(wrongWordsInTables(readText('db/schema.sql'))).toEqual([])
  })

  test('of the paths', () => {
    expect(wrongWordsInPaths(OPERATIONS.map(({ http }) => http.path))).toEqual([])
  })

  test.each([
    'README.md',
    ...['docs', 'skills']
      .flatMap((folder) => filesUnder(folder))
      .filter((path) => path.endsWith('.md') && !path.startsWith('skills/published/')),
  ])('of %s', (path) => {
    expect(wrongWordsInDoc(path, readText(path))).toEqual([])
  })
})

describe('planted words', () => {
  const inSource = (path: string, text: string) => wrongWordsInSources(treeOf([[path, text]]))

  test.each([
    ['const FLOCK_MS = 1', 'batch'],
    ['const isRipe = 1', 'due'],
    ['function f(luck: number) {}', 'jitter'],
    ['type Caller = 1', 'principal'],
    ['type ChatNeeds = 1', 'deps'],
    ['const { needs } = x', 'deps'],
    ['x.openDoor()', 'entry point'],
    ['class MAXStrangers {}', 'who it is'],
    ['const visitOf = 1', 'support session'],
    ['const claimSends = 1', 'messages'],
    ['const x = { sendId: 1 }', 'message'],
    ['/** Every room has one. */', 'layer'],
    ['// Who stands at the door.', 'entry point'],
    ['// A visit of support staff.', 'support session'],
  ])('%s is found', (text, say) => {
    const found = inSource('src/http/x.ts', text)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(`say ${say}`)
  })

  test.each([
    '// In lowercase letters; there is room for one more, and whoever visits the page waits by the wall clock.',
    'const sendsMail = sendMail, needsMajor = 1, NEEDS_DATABASE = 2, outdoor = 3, doorstep = 4, mushroom = 5',
    'const connection = 1 // The caller needs it.',
    "throw new Error('nobody at the door')",
  ])('%s is fine', (text) => {
    expect(inSource('src/http/x.ts', text)).toEqual([])
  })

  test('a letter is a message where messages are sent', () => {
    expect(inSource('src/worker/x.ts', 'const lookAtLetter = 1')).toHaveLength(1)
    expect(inSource('db/wire/x.ts', 'const letters = 1')).toEqual([])
    expect(wrongWordsInPaths(['/api/notifications/letters'])).toHaveLength(1)
  })

  test('file names are names', () => {
    expect(inSource('test/support/fake-house.ts', '')).toHaveLength(1)
    expect(inSource('test/support/warehouse.ts', '')).toEqual([])
  })

  test('a connection is an integration in notifications, and a connection to a database elsewhere', () => {
    expect(inSource('src/cores/notifications/x.ts', 'const connectionOf = 1')).toHaveLength(1)
    expect(inSource('src/cores/databases/x.ts', 'const connectionOf = 1')).toEqual([])
    expect(inSource('src/console/pages/integrations/x.ts', "const x = 'Add a connection'")).toHaveLength(1)
    expect(inSource('src/console/pages/databases/x.ts', "const x = 'Add a connection'")).toEqual([])
    expect(wrongWordsInPaths(['/api/integrations/connections/{id}'])).toHaveLength(1)
    expect(wrongWordsInPaths(['/api/wf/databases/{name}/connection'])).toEqual([])
    expect(
      wrongWordsInDoc(
        'docs/notifications.md',
        'Each connection has a `connection_id`, unless the connection broke.',
      ),
    ).toHaveLength(1)
    expect(wrongWordsInDoc('docs/operating.md', 'Each connection')).toEqual([])
  })

  test('texts of pages are read, those of tests are not', () => {
    const text = "const x = html`<button>Take back</button>`, y = 'Small letters only', z = 'take-back'"
    expect(inSource('src/console/pages/tokens/x.ts', text)).toHaveLength(2)
    expect(inSource('src/console/pages/tokens/x.test.ts', text)).toEqual([])
    expect(inSource('src/http/x.ts', text)).toEqual([])
  })

  test('tables and their columns are read', () => {
    const table = (name: string, column: string) =>
      `CREATE TABLE ${name} (\n  org_id text NOT NULL,\n  ${column} text,\n  CONSTRAINT a PRIMARY KEY (org_id)\n);\n`
    expect(wrongWordsInTables(table('sends', 'id'))).toEqual(['sends: sends: say messages'])
    expect(wrongWordsInTables(table('attempts', 'send_id'))).toEqual([
      'attempts.send_id: send_id: say message',
    ])
    expect(wrongWordsInTables(table('activity', 'door'))).toEqual(['activity.door: door: say entry point'])
    expect(wrongWordsInTables(table('default_seeds', 'id'))).toHaveLength(1)
    expect(wrongWordsInTables(table('messages', 'sent_at'))).toEqual([])
  })
})
