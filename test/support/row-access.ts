/**
 * Rows with random access values, and people of every kind who ask for them. Who sees which row is decided here by the
 * definition, one row at a time; and each asker has a table of their own in which the rows they do not see never were.
 */
import type * as z from 'zod'
import type { Call } from '../../src/client/http-client.ts'
import {
  fetchDataSourceRow,
  previewDataSource,
  queryDataSource,
  type QueryResult,
  type SearchConfiguration,
} from '../../src/contracts/data-sources.ts'
import { HITS_MAX } from '../../src/contracts/limits.ts'
import { addGroupMember, createGroup } from '../../src/contracts/groups.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { PASSAGES_SCHEMA, passagesComment } from '../../src/cores/search/index.ts'
import { startSupportSession } from '../../src/contracts/support.ts'
import { signActor } from './actor.ts'
import { agentOf, entry, makeSource, type Source } from './data-sources.ts'
import { makeMachineAgent } from './machine-agents.ts'
import { makeApiToken, makeMember, makeOrganization, makePerson, type Org } from './make.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

export const randomFrom = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export type AccessRow = {
  readonly id: string
  readonly body: string
  readonly vector: readonly number[]
  /** Of a text that is longer than the model reads: the vectors of its parts. */
  readonly passages: readonly (readonly number[])[]
  /** null and empty: nobody. */
  readonly seenBy: readonly string[] | null
}

export type Asker = {
  readonly name: string
  /** Of a member; null: none. */
  readonly role: Role | null
  readonly email: string | null
  readonly groups: readonly string[]
  readonly call: () => Promise<Call>
  /** For a preview; null where nobody can be previewed as. */
  readonly id: string | null
}

const RANKS: Record<Role, number> = { member: 1, viewer: 1, developer: 2, admin: 3, owner: 4 }

/** By the words of the contract, and nothing of how it is done. */
export function sees({ role, email, groups }: Asker, { seenBy }: AccessRow): boolean {
  return (seenBy ?? []).some((value) => {
    if (value.startsWith('group:')) return groups.includes(value.slice('group:'.length))
    if (role === null) return false
    if (value === 'everyone') return true
    if (value.startsWith('user:')) return email !== null && value.slice('user:'.length) === email
    if (!value.startsWith('role:')) return false
    const minimum = RANKS[value.slice('role:'.length) as Role] as number | undefined
    return minimum !== undefined && RANKS[role] >= minimum
  })
}

/** Names that would break a statement, or a list, that is put together from text. */
const GROUPS = ['board', `o'dd "g{r}o,u\\p" $1::text`, 'Everyone', 'empty']

const WORDS = Array.from({ length: 30 }, (_, at) => `word${String.fromCharCode(97 + (at % 26))}${at}`)

const makeRows = (count: number, dimensions: number, values: readonly string[], random: () => number) =>
  Array.from({ length: count }, (_, at): AccessRow => {
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const length = Math.floor(random() * 4)
    const vector = () => Array.from({ length: dimensions }, () => Number((random() * 2 - 1).toFixed(6)))
    return {
      id: `r${String(at).padStart(6, '0')}`,
      body: Array.from({ length: 3 + Math.floor(random() * 20) }, () => pick(WORDS)).join(' '),
      vector: vector(),
      passages: random() < 0.5 ? [] : Array.from({ length: 1 + Math.floor(random() * 3) }, vector),
      seenBy: random() < 0.1 ? null : Array.from({ length }, () => pick(values)),
    }
  })

/** The questions of a test, each with words and a place of its own. */
export const questionOf = (random: () => number, dimensions: number): string =>
  `[${Array.from({ length: dimensions }, () => (random() * 2 - 1).toFixed(6)).join(',')}] ${WORDS[Math.floor(random() * 30)]} ${WORDS[Math.floor(random() * 30)]}`

export const vectorIn = (question: string): number[] =>
  /\[([^\]]*)\]/.exec(question)![1]!.split(',').map(Number)

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** `list` has any number of values in a row, `one` the first of them. */
function tableOf(name: string, kind: 'list' | 'one', rows: readonly AccessRow[], dimensions = 3): string {
  const valueOf = ({ seenBy }: AccessRow): string => {
    if (kind === 'one') return seenBy?.[0] === undefined ? 'null' : quote(seenBy[0])
    return seenBy === null ? 'null' : `array[${seenBy.map(quote).join(',')}]::text[]`
  }
  const values = rows.map(
    (row) =>
      `(${quote(row.id)}, ${quote(`Title ${row.id}`)}, ${quote(row.body)}, ${valueOf(row)}, '[${row.vector.join(',')}]')`,
  )
  return `create table ${name} (id text, title text, body text, seen_by ${kind === 'one' ? 'text' : 'text[]'},
      embedding vector(${dimensions}), words tsvector generated always as (to_tsvector('simple', body)) stored);
    ${values.length === 0 ? '' : `insert into ${name} (id, title, body, seen_by, embedding) values ${values.join(', ')};`}
    create index on ${name} using gin (words);
    create index on ${name} using hnsw (embedding vector_cosine_ops);
    ${passagesOf(name, rows, dimensions)}`
}

/** As a load makes them, and one of a row that is gone. */
function passagesOf(name: string, rows: readonly AccessRow[], dimensions: number): string {
  const values = rows.flatMap(({ id, body, passages }) =>
    passages.map((vector, at) => `(${quote(id)}, ${at}, ${quote(body)}, '[${vector.join(',')}]')`),
  )
  const nobodys = `('gone', 0, 'what nobody sees', '[${Array.from({ length: dimensions }, () => 1).join(',')}]')`
  const comment = passagesComment({ key: 'id', model: 'toy-3', dimensions })
  return `create schema if not exists ${PASSAGES_SCHEMA};
    create table ${PASSAGES_SCHEMA}.${name} (row_id text, place int, heading text default '', passage text,
      text_sha256 text default '', embedding vector(${dimensions}), primary key (row_id, place));
    comment on table ${PASSAGES_SCHEMA}.${name} is ${quote(comment)};
    insert into ${PASSAGES_SCHEMA}.${name} (row_id, place, passage, embedding) values ${[...values, nobodys].join(', ')};
    create index on ${PASSAGES_SCHEMA}.${name} using hnsw (embedding vector_cosine_ops);`
}

const HYBRID = { hybrid: true, text_search_column: 'words', text_search_language: 'simple' } as const

type Configuration = z.input<typeof SearchConfiguration>

const accessConfiguration = (tables: readonly string[]): Configuration => ({
  connection_config: {
    embedding_configs: tables.flatMap((table) => [
      entry(table, { content_columns: 'id,title,body', fetchable: true }),
      entry(table, { label: `${table} words`, content_columns: 'id,title,body', ...HYBRID }),
    ]),
  },
  access_column: 'seen_by',
})

export type AccessWorld = {
  readonly org: Org
  readonly askers: readonly Asker[]
  readonly rows: readonly AccessRow[]
  /** Tables `list` and `one` have all rows; `list_0`, `one_0` … those that the asker of that number sees. */
  readonly source: Source
}

/** Whom a hosted vendor knows as well. */
async function makePeople(system: TestSystem, org: Org): Promise<Asker[]> {
  const { call } = org.owner
  const groups = new Map<string, string>()
  for (const name of GROUPS) groups.set(name, (await call(createGroup, { name })).id)
  const person = async (name: string, role: Role, inGroups: readonly string[], verified = true) => {
    const made = await makeMember(system, org, role, await makePerson(system, { verified }))
    for (const group of inGroups) {
      await call(addGroupMember, { group_id: groups.get(group)!, member_id: made.userId })
    }
    const organization = { token: made.token, organization: org.id }
    const about = { name, role, email: verified ? made.email : null, groups: inGroups, id: made.userId }
    return { made, asker: { ...about, call: async () => system.as(organization) } }
  }
  const [admin, developer, viewer, joined, unverified] = [
    await person('an admin', 'admin', []),
    await person('a developer in two groups', 'developer', ['board', GROUPS[1]!]),
    await person('a viewer', 'viewer', []),
    await person('a member by domain, in a group', 'member', ['Everyone']),
    await person('a viewer without a verified address', 'viewer', ['board'], false),
  ]
  const capped = await makeApiToken(system, org, org.owner, { role_cap: 'viewer' })
  const agent = await agentOf(system, org, developer.made)
  const owner = { token: org.owner.token, organization: org.id }
  return [
    {
      name: 'the owner',
      role: 'owner',
      email: org.owner.email,
      groups: [],
      id: org.owner.userId,
      call: async () => system.as(owner),
    },
    ...[admin, developer, viewer, joined, unverified].map(({ asker }) => asker),
    {
      name: 'a token of the owner, for a viewer',
      role: 'viewer',
      email: org.owner.email,
      groups: [],
      id: null,
      call: async () => capped.call,
    },
    {
      ...developer.asker,
      name: 'an agent of the developer',
      id: null,
      call: async () => system.as(await agent()),
    },
  ]
}

/** Who is no member: two machine agents, and support staff. */
async function makeMachinesAndStaff(system: TestSystem, org: Org): Promise<Asker[]> {
  const { call } = org.owner
  const { id: group_id } = await call(createGroup, { name: 'machines' })
  const machine = async (name: string, groups: readonly string[]): Promise<Asker> => {
    const {
      id,
      user_id: userId,
      grant_id,
      client_id: clientId,
    } = await makeMachineAgent(org.owner, {
      role: 'developer',
      scopes: ['data:read'],
    })
    if (groups.length > 0) await call(addGroupMember, { group_id, member_id: id })
    const actor = { userId, orgId: org.id, scopes: ['data:read'] as const, clientId, grantId: grant_id! }
    return {
      name,
      role: null,
      email: null,
      groups,
      id,
      call: async () => system.as({ token: await signActor(system, actor) }),
    }
  }
  const staff = await makePerson(system)
  await system.as({ token: OPERATOR_TOKEN })(startSupportSession, {
    org: org.id,
    staff_email: staff.email,
    reason: 'Questions about a source',
  })
  return [
    await machine('a machine agent in a group', ['machines']),
    await machine('a machine agent', []),
    {
      name: 'support staff',
      role: null,
      email: null,
      groups: [],
      id: null,
      call: async () => system.as({ token: staff.token, organization: org.id }),
    },
  ]
}

export async function makeAccessWorld(
  system: TestSystem,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<AccessWorld> {
  const org = await makeOrganization(system)
  const askers = [
    ...(await makePeople(system, org)),
    ...(system.isHosted ? [] : await makeMachinesAndStaff(system, org)),
  ]
  const values = [
    'everyone',
    'everyone',
    ...['member', 'viewer', 'developer', 'admin', 'owner', 'nobody', ''].map((role) => `role:${role}`),
    ...[...GROUPS, 'machines', 'unknown'].map((name) => `group:${name}`),
    ...askers.flatMap(({ email }) => (email === null ? [] : [`user:${email}`])),
    'user:',
    'group:',
    '',
    'Everyone',
    'everyone ',
    `x"}', "everyone`,
  ]
  const rows = makeRows(count, 3, values, randomFrom(seed))
  const kinds = ['list', 'one'] as const
  const tables = kinds.flatMap((kind) => [
    { name: kind, kind, rows: rowsOf(rows, kind) },
    ...askers.map((asker, at) => ({
      name: `${kind}_${at}`,
      kind,
      rows: rowsOf(rows, kind).filter((row) => sees(asker, row)),
    })),
  ])
  const source = await makeSource(org, {
    name: 'rows',
    sql: tables.map((table) => tableOf(table.name, table.kind, table.rows)).join('\n'),
    configuration: accessConfiguration(tables.map(({ name }) => name)),
  })
  return { org, askers, rows, source }
}

/** A text has one value. */
export const rowsOf = (rows: readonly AccessRow[], kind: 'list' | 'one'): readonly AccessRow[] =>
  kind === 'list' ? rows : rows.map((row) => ({ ...row, seenBy: row.seenBy?.slice(0, 1) ?? null }))

/** All pages. */
export async function previewedIds(call: Call, source_id: string, member_id: string, target: string) {
  const ids: string[] = []
  for (let cursor: string | undefined; ;) {
    const page = await call(previewDataSource, {
      source_id,
      member_id,
      target,
      limit: 100,
      ...(cursor !== undefined && { cursor }),
    })
    ids.push(...page.rows.map(({ id }) => id))
    if (page.next_cursor === undefined) return { ids, total: page.total }
    cursor = page.next_cursor
  }
}

const cosine = (a: readonly number[], b: readonly number[]): number => {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, one, at) => sum + one * y[at]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

/** A row is as near as the nearest of its vectors. */
export const nearestIds = (rows: readonly AccessRow[], question: string, limit: number): string[] => {
  const nearness = ({ vector, passages }: AccessRow) =>
    Math.max(...[vector, ...passages].map((one) => cosine(one, vectorIn(question))))
  return rows
    .toSorted((a, b) => nearness(b) - nearness(a))
    .slice(0, limit)
    .map(({ id }) => id)
}

/** Without what names the table. */
const plain = (answer: z.output<typeof QueryResult>) => ({
  ...answer,
  results: answer.results.map(({ metadata: { _target, _handle, ...metadata }, ...hit }) => ({
    ...hit,
    metadata,
  })),
})

export type Asked = {
  readonly asker: string
  /** Of a table with all rows, and of one in which the hidden ones never were. */
  readonly answer: unknown
  readonly asIfAbsent: unknown
  readonly ids: readonly string[]
  /** By the definition; of words only which rows may be found at all. */
  readonly expected: readonly string[]
}

/** Another table has another address, and was asked at another moment. */
const withoutPlace = (answer: { readonly results: readonly object[] }) => ({
  ...answer,
  results: answer.results.map((hit) => ({ ...hit, url: null, as_of: null })),
})

/** Every asker, table and question, by meaning and by both. */
export async function askAll(
  { askers, rows, source: { sourceId: source_id } }: AccessWorld,
  questions: readonly string[],
): Promise<{ readonly byMeaning: Asked[]; readonly byBoth: Asked[] }> {
  const [byMeaning, byBoth]: [Asked[], Asked[]] = [[], []]
  for (const [at, asker] of askers.entries()) {
    for (const kind of ['list', 'one'] as const) {
      const seen = rowsOf(rows, kind).filter((row) => sees(asker, row))
      for (const query of questions) {
        const ask = async (target: string) =>
          plain(await (await asker.call())(queryDataSource, { source_id, query, target, top_k: HITS_MAX }))
        for (const [list, label] of [[byMeaning, ''] as const, [byBoth, ' words'] as const]) {
          const answer = await ask(`${kind}${label}`)
          const ids = answer.results.map(({ id }) => id)
          const expected = nearestIds(seen, query, label === '' ? HITS_MAX : seen.length)
          list.push({
            asker: asker.name,
            answer: withoutPlace(answer),
            asIfAbsent: withoutPlace(await ask(`${kind}_${at}${label}`)),
            ids,
            expected,
          })
        }
      }
    }
  }
  return { byMeaning, byBoth }
}

/** Handles are not tied to whoever found them: each of `most` rows is fetched by everybody. What came, and what should. */
export async function fetchAll(
  { askers, rows, source: { sourceId: source_id } }: AccessWorld,
  question: string,
  most: number,
): Promise<
  { readonly asker: string; readonly id: string; readonly fetched: string; readonly expected: string }[]
> {
  const handles = new Map<string, string>()
  for (const asker of askers) {
    const call = await asker.call()
    const { results } = await call(queryDataSource, {
      source_id,
      query: question,
      target: 'list',
      top_k: HITS_MAX,
    })
    for (const { id, metadata } of results) handles.set(id, String(metadata['_handle']))
  }
  const tried: { asker: string; id: string; fetched: string; expected: string }[] = []
  for (const asker of askers) {
    for (const [id, handle] of [...handles].slice(0, most)) {
      const fetched = await (
        await asker.call()
      )(fetchDataSourceRow, { source_id, handle }).then(
        ({ hit }) => hit.id,
        ({ code }: { code: string }) => code,
      )
      const row = rows.find((one) => one.id === id)!
      tried.push({ asker: asker.name, id, fetched, expected: sees(asker, row) ? id : 'NOT_FOUND' })
    }
  }
  return tried
}
