/** The part of the fake gateway with databases, queries and activity. */
import type * as z from 'zod'
import { listActivity, summarizeActivity, type ActivityEntry } from '../../src/contracts/activity.ts'
import * as dataSources from '../../src/contracts/data-sources.ts'
import * as databases from '../../src/contracts/databases.ts'
import { notFound, ServiceError } from '../../src/contracts/errors.ts'
import type { makeId } from '../../src/contracts/ids.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { atLeast, type Role } from '../../src/contracts/roles.ts'

type Source = z.output<typeof dataSources.DataSourceWithHealth> & { org: string }
type Entry = z.output<typeof ActivityEntry> & { org: string }
type Table = z.output<typeof dataSources.listTables.output>['tables'][number]
type Asked = { org: string | null; token: string }
type Page = { limit: number; cursor?: string | undefined; count?: boolean }

export type FakeContext = {
  on: <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, asked: Asked) => unknown,
  ) => unknown
  list: <Row extends { id: string }>(name: string, rows: readonly Row[], page: Page) => unknown
  id: (prefix: Parameters<typeof makeId>[0]) => string
  clock: () => Date
  me: { id: string; name: string }
  organizationOf: (asked: Asked) => { id: string; role: Role }
}

const PASSWORD = 'p4ss-w0rd-of-the-fake'

export type FakeDataSources = ReturnType<typeof fakeDataSources>

export function fakeDataSources({ on, list, id, clock, me, organizationOf }: FakeContext) {
  const data = {
    sources: [] as Source[],
    activity: [] as Entry[],
    /** What the next question gets: an answer, or a refusal. */
    answer: { count: 0, results: [] } as dataSources.QueryResult | ServiceError,
    /** Every question as it arrived. */
    questions: [] as z.output<typeof dataSources.queryDataSource.input>[],
    exposedMax: 100,
    creationRefusal: undefined as ServiceError | undefined,
    /** What the database of every source holds, or why it does not say. */
    tables: TABLES as Table[] | ServiceError,
    suggestion: SUGGESTION as dataSources.SearchConfiguration | null,
    /** What a search over all of them could not ask. */
    unavailable: undefined as { source_id: string; reason: string }[] | undefined,
  }
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()

  /** Of the organization of the call, by somebody whose role is high enough; as the gateway does for every operation. */
  const own = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, org: { id: string; role: Role }) => unknown,
  ) =>
    on(operation, (input, asked) => {
      const org = organizationOf(asked)
      if (!atLeast(org.role, operation.access as Role)) throw new ServiceError('FORBIDDEN')
      return handle(input, org)
    })
  const find = (org: { id: string }, sourceId: string): Source => {
    const found = data.sources.find(
      (one) => one.org === org.id && (one.id === sourceId || one.source_id === sourceId),
    )
    if (!found) throw notFound()
    return found
  }
  const fits =
    (search: string | undefined) =>
    ({ name, source_id }: Source): boolean =>
      `${name} ${source_id}`.toLowerCase().includes(search?.toLowerCase() ?? '')

  const add = (
    org: string,
    name: string,
    facts: Partial<Source> = {},
    configuration?: dataSources.SearchConfiguration,
  ): Source => {
    if (data.sources.some((one) => one.org === org && one.source_id === `db_${name}`)) {
      throw new ServiceError('CONFLICT', `A database named ${name} already exists`)
    }
    const source: Source = {
      org,
      id: id('ds'),
      source_id: `db_${name}`,
      name,
      description: '',
      kind: 'embedded',
      ready: true,
      enabled: false,
      exposed: false,
      minimum_role: 'viewer',
      connection_config: configuration?.connection_config ?? null,
      filter_schema: configuration?.filter_schema ?? {},
      configured_at: configuration ? daysAgo(3) : null,
      created_at: daysAgo(12),
      health: { checked_at: null, problems: [], last_error: null },
      ...facts,
    }
    data.sources.push(source)
    return source
  }
  const addActivity = (org: string, days: number, facts: Partial<Entry> = {}): Entry => {
    const entry: Entry = {
      org,
      id: id('act'),
      at: daysAgo(days),
      type: 'data_source',
      name: 'db_handbook',
      user: { id: me.id, name: me.name },
      source: 'api',
      client_id: null,
      client_name: null,
      grant_id: null,
      outcome: 'answered',
      error: null,
      duration_ms: 41,
      question_bytes: 38,
      answer_bytes: 5_214,
      hits: 10,
      question_digest: 'c2FtZQ',
      answer_digest: 'c2FtZQ',
      request_id: id('req'),
      ...facts,
    }
    data.activity.push(entry)
    return entry
  }

  own(databases.createDatabase, ({ name, title, description }, org) => {
    if (data.creationRefusal) throw data.creationRefusal
    return add(org.id, name, { name: title ?? name, description: description ?? '' })
  })
  own(databases.attachDatabase, ({ name, title, description, url }, org) => {
    if (!url.startsWith('postgres://')) {
      throw new ServiceError('INVALID_REQUEST', undefined, { problems: ['url: must begin with postgres://'] })
    }
    return add(org.id, name, { name: title ?? name, description: description ?? '', kind: 'attached' })
  })
  own(databases.showConnectionString, ({ name }, org) => {
    if (find(org, `db_${name}`).kind === 'attached') throw new ServiceError('CONFLICT')
    const login = { host: '127.0.0.1', port: 5433, database: name, user: name, password: PASSWORD }
    return { name, ...login, url: `postgres://${name}:${PASSWORD}@127.0.0.1:5433/${name}` }
  })
  own(databases.removeDatabase, ({ name, confirm }, org) => {
    if (confirm !== name) throw new ServiceError('INVALID_REQUEST')
    data.sources.splice(data.sources.indexOf(find(org, `db_${name}`)), 1)
    return {}
  })
  own(dataSources.listDataSources, ({ search, ...page }, org) =>
    list('data_sources', data.sources.filter((one) => one.org === org.id).filter(fits(search)), page),
  )
  own(dataSources.showDataSource, ({ source_id }, org) => find(org, source_id))
  own(dataSources.listTables, ({ source_id }, org) => {
    const source = find(org, source_id)
    if (data.tables instanceof ServiceError) throw data.tables
    const saved = source.connection_config?.embedding_configs ?? []
    const tables = data.tables.map((one) => ({
      ...one,
      configured: saved.some(({ table }) => table === one.table),
    }))
    return { tables, more: false, suggestion: data.suggestion }
  })
  own(dataSources.saveSearchConfiguration, ({ source_id, connection_config, filter_schema }, org) => {
    const source = find(org, source_id)
    const wrong = connection_config.embedding_configs.filter(({ table }) => table === 'missing')
    if (wrong.length > 0) {
      throw new ServiceError('INVALID_SEARCH_CONFIGURATION', undefined, {
        problems: wrong.map(({ label }) => `${label}: there is no table "missing" that can be read`),
      })
    }
    Object.assign(source, { connection_config, filter_schema, configured_at: daysAgo(0) })
    return { ...source, notes: [] }
  })
  own(dataSources.showQuota, () => ({
    minute: { limit: 60, left: 58, resets_at: daysAgo(0) },
    day: { limit: 5_000, left: 4_812, resets_at: daysAgo(-0.5) },
  }))
  own(dataSources.updateDataSource, ({ source_id, name, description }, org) => {
    const source = find(org, source_id)
    return Object.assign(source, {
      name: name ?? source.name,
      description: description ?? source.description,
    })
  })
  own(dataSources.setDataSourceState, ({ source_id, enabled }, org) => {
    const source = find(org, source_id)
    return Object.assign(source, { enabled, exposed: enabled && source.exposed })
  })
  own(dataSources.setDataSourceExposure, ({ source_id, exposed, minimum_role }, org) => {
    const source = find(org, source_id)
    if (exposed && !source.enabled) {
      throw new ServiceError('CONFLICT', 'This data source is disabled', {
        hint: 'Enable it first, then expose it.',
      })
    }
    const others = data.sources.filter((one) => one.org === org.id && one.exposed && one !== source)
    if (exposed && others.length >= data.exposedMax) throw new ServiceError('EXPOSURE_LIMIT')
    return Object.assign(source, { exposed, minimum_role: minimum_role ?? source.minimum_role })
  })
  own(dataSources.listAskableDataSources, ({ search, ...page }, org) => {
    const mine = data.sources.filter(
      (one) => one.org === org.id && one.exposed && atLeast(org.role, one.minimum_role),
    )
    return list('data_sources', mine.filter(fits(search)).map(askable), page)
  })
  own(dataSources.queryDataSource, (question, org) => {
    const source = find(org, question.source_id)
    if (!source.exposed) throw notFound()
    if (!atLeast(org.role, source.minimum_role)) throw new ServiceError('FORBIDDEN')
    data.questions.push(question)
    if (data.answer instanceof ServiceError) throw data.answer
    return data.answer
  })
  own(dataSources.searchDataSources, () => {
    if (data.answer instanceof ServiceError) throw data.answer
    return { ...data.answer, ...(data.unavailable ? { unavailable: data.unavailable } : {}) }
  })

  type Filters = Omit<z.output<typeof summarizeActivity.input>, 'agents'>
  const matching = (
    { type, source, user_id, grant_id, entry_point, from, to }: Filters,
    org: { id: string; role: Role },
  ) => {
    const seesAll = atLeast(org.role, 'admin')
    if (user_id !== undefined && user_id !== me.id && !seesAll) throw new ServiceError('FORBIDDEN')
    return data.activity
      .filter(
        (one) =>
          one.org === org.id &&
          (type === 'all' || one.type === type) &&
          (seesAll || one.user.id === me.id) &&
          (!source || one.name === source) &&
          (!user_id || one.user.id === user_id) &&
          (!grant_id || one.grant_id === grant_id) &&
          (!entry_point || one.source === entry_point) &&
          (!from || one.at >= from) &&
          (!to || one.at <= to),
      )
      .toSorted((a, b) => b.at.localeCompare(a.at))
  }
  own(listActivity, ({ outcome, limit, cursor, count, ...filters }, org) =>
    list(
      'activity',
      matching(filters, org).filter((one) => !outcome || one.outcome === outcome),
      { limit, cursor, count },
    ),
  )
  own(summarizeActivity, ({ agents, ...filters }, org) => {
    const rows = matching(filters, org)
    const grants = [...new Set(rows.map(({ grant_id }) => grant_id))].filter((one) => one !== null)
    const days = new Map<string, z.output<typeof summarizeActivity.output>['days'][number]>()
    for (const { at, outcome, type } of rows.toReversed()) {
      const day = at.slice(0, 10)
      const counted = days.get(day) ?? { day, answered: 0, refused: 0, failed: 0, questions: 0 }
      counted[outcome] += 1
      if (type === 'data_source') counted.questions += 1
      days.set(day, counted)
    }
    const byAgent = grants.map((one) => agentOf(rows.filter((row) => row.grant_id === one)))
    return { days: [...days.values()], ...(agents && { agents: byAgent }) }
  })

  return { data, add, addActivity }
}

function agentOf(rows: readonly Entry[]) {
  const [last] = rows
  const count = (outcome: Entry['outcome']) => rows.filter((row) => row.outcome === outcome).length
  const days = [...new Set(rows.map(({ at }) => at.slice(0, 10)))].toSorted()
  return {
    grant_id: last?.grant_id ?? '',
    client_id: last?.client_id ?? '',
    client_name: last?.client_name ?? null,
    user: last?.user ?? { id: '', name: '' },
    last_call_at: last?.at ?? '',
    calls: rows.length,
    refused: count('refused'),
    failed: count('failed'),
    days: days.map((day) => ({ day, calls: rows.filter(({ at }) => at.startsWith(day)).length })),
  }
}

const askable = ({
  source_id,
  name,
  minimum_role,
  filter_schema,
  connection_config,
  description,
}: Source) => ({
  id: source_id,
  name,
  minimum_role,
  filters: filter_schema,
  targets: connection_config?.embedding_configs.map(({ label }) => label) ?? [],
  description,
})

const column = (name: string, type: string) => ({ name, type })

const TABLES: Table[] = [
  {
    table: 'handbook.pages',
    kind: 'table',
    rows: 1_204,
    is_estimated: false,
    columns: [
      column('id', 'int8'),
      column('title', 'text'),
      column('body', 'text'),
      column('embedding', 'vector'),
    ],
    vectors: [
      {
        name: 'embedding',
        dimensions: 384,
        models: ['minilm-l6-v2'],
        index: 'hnsw',
        metric: 'cosine',
        without_vector: 3,
      },
    ],
    configured: false,
  },
  {
    table: 'messages',
    kind: 'table',
    rows: 81_040,
    is_estimated: true,
    columns: [column('id', 'int8'), column('text', 'text'), column('vector', 'vector')],
    vectors: [
      { name: 'vector', dimensions: 1_536, models: [], index: null, metric: null, without_vector: 0 },
    ],
    configured: false,
  },
  {
    table: 'teams',
    kind: 'table',
    rows: 12,
    is_estimated: true,
    columns: [column('id', 'int8'), column('name', 'text')],
    vectors: [],
    configured: false,
  },
]

const SUGGESTION: dataSources.SearchConfiguration = {
  connection_config: {
    embedding_configs: [
      {
        label: 'pages',
        table: 'handbook.pages',
        columns: ['embedding'],
        model: 'minilm-l6-v2',
        dimensions: 384,
        content_columns: 'id, title, body',
        distance_metric: 'cosine',
      },
    ],
  },
  filter_schema: {},
}

const HANDBOOK: dataSources.SearchConfiguration = {
  connection_config: {
    embedding_configs: [
      {
        label: 'Pages',
        table: 'handbook.pages',
        columns: ['embedding'],
        model: 'minilm-l6-v2',
        dimensions: 384,
        content_columns: 'id, title, body, team, updated',
        distance_metric: 'cosine',
        hybrid: true,
        fetchable: true,
      },
      {
        label: 'Decisions',
        table: 'decisions',
        columns: ['vector'],
        model: 'minilm-l6-v2',
        dimensions: 384,
        content_columns: 'number, subject, reason',
        distance_metric: 'inner_product',
      },
    ],
  },
  filter_schema: { team: 'string', year: 'number', draft: 'boolean' },
}

const HITS: dataSources.QueryResult = {
  count: 2,
  results: [
    {
      id: '42',
      title: 'How we plan holidays',
      metadata: {
        body: 'Enter the days into the calendar at least four weeks ahead. '.repeat(12),
        team: 'People',
        tags: ['time off', 'calendar'],
        updated: null,
        _score: 0.8127,
        _target: 'Pages',
        _mode: 'hybrid',
        _handle: 'signed-handle',
      },
    },
    {
      id: '17',
      title: null,
      metadata: { reason: 'Days off are counted in half days.', _score: 0.4405, _target: 'Decisions' },
    },
  ],
  truncated: 'The value `body` of hit 42 was cut.',
}

/** Databases in every state, and a month of questions. */
export function seedDataSources(
  { data, add, addActivity }: FakeDataSources,
  org: string,
  people: readonly { user_id: string; name: string }[],
  agents: readonly Agent[],
): void {
  const [own, colleague] = agents.map(callOf)
  add(
    org,
    'handbook',
    { name: 'Handbook', description: 'How we work, page by page.', enabled: true, exposed: true },
    HANDBOOK,
  )
  add(org, 'tickets', { name: 'Support tickets', kind: 'postgres', enabled: true }, HANDBOOK)
  add(org, 'warehouse', { name: 'Warehouse', kind: 'attached' })
  add(org, 'drafts', { name: 'Drafts', ready: false })
  add(
    org,
    'salaries',
    { name: 'Salaries', kind: 'postgres', enabled: true, exposed: true, minimum_role: 'admin' },
    HANDBOOK,
  )
  data.answer = HITS
  for (let days = 0; days < 26; days += 1) {
    for (let number = 0; number < (days * 7) % 11; number += 1) {
      const person = people[(days + number) % people.length]!
      addActivity(org, days + number / 100, {
        user: { id: person.user_id, name: person.name },
        ...(number % 3 === 1 ? own : {}),
        ...(number % 4 === 3
          ? { outcome: 'refused', error: 'RATE_LIMITED', hits: null, answer_bytes: 0 }
          : {}),
        ...(number === 6 ? { outcome: 'failed', error: 'EMBEDDING_UNAVAILABLE', hits: null } : {}),
      })
    }
  }
  addActivity(org, 0.2, { type: 'function', name: 'whoami', hits: null, ...own })
  for (const days of [1.1, 1.2, 3.1]) addActivity(org, days, { name: 'db_salaries', ...colleague })
}

type Agent = {
  id: string
  client_id: string
  client_name: string | null
  user: { id: string; name: string }
}

const callOf = ({ id, client_id, client_name, user }: Agent): Partial<Entry> => ({
  source: 'mcp',
  grant_id: id,
  client_id,
  client_name,
  user: { id: user.id, name: user.name },
})
