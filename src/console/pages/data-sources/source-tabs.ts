/** The tabs of a data source: which there are, who may open them, and the page around each. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  listAskableDataSources,
  showDataSource,
  type AskableSource,
} from '../../../contracts/data-sources.ts'
import { notFound } from '../../../contracts/errors.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import type { Tab } from '../../components.ts'
import { hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { page, type Page } from '../../layout.ts'
import { pathOf, roleAndAbove, sourceIdFrom, stateBadge, type Source } from './source-labels.ts'

/** Everybody else may query what is exposed to them, and see what they asked. */
const SOURCE_TABS = {
  ask: { path: '', label: 'Ask', for: 'viewer' },
  access: { path: '/access', label: 'Access', for: 'developer' },
  documents: { path: '/documents', label: 'Documents', for: 'developer' },
  search: { path: '/search', label: 'Search', for: 'developer' },
  quality: { path: '/quality', label: 'Quality', for: 'developer' },
  database: { path: '/database', label: 'Database', for: 'developer' },
  usage: { path: '/usage', label: 'Usage', for: 'viewer' },
} as const satisfies Record<string, { path: string; label: string; for: 'viewer' | 'developer' }>

type SourceTab = keyof typeof SOURCE_TABS
const NAMES = Object.keys(SOURCE_TABS) as SourceTab[]

export const tabPath = (id: string, tab: SourceTab): string => pathOf(id) + SOURCE_TABS[tab].path

export type Askable = z.output<typeof AskableSource>

/** As whoever opens the page may see it. */
export type OpenSource = {
  readonly askable: Askable
  /** Undefined to those who may query it and not configure it. */
  readonly source: Source | undefined
}

export const readSource = (c: PageContext): Promise<Source> =>
  sessionOf(c).call(showDataSource, { source_id: sourceIdFrom(c) })

/** Of the address. At most 100 are exposed, so one page lists all that a viewer may query. */
export async function openSource(c: PageContext): Promise<OpenSource> {
  organizationOf(c)
  if (hasRole(sessionOf(c), 'developer')) {
    const source = await readSource(c)
    return { source, askable: askableOf(source) }
  }
  const id = sourceIdFrom(c)
  const { data_sources } = await sessionOf(c).call(listAskableDataSources, { limit: PAGE_MAX })
  const askable = data_sources.find((one) => one.id === id)
  if (!askable) throw notFound()
  return { source: undefined, askable }
}

export const askableOf = (source: Source): Askable => ({
  id: source.source_id,
  name: source.name,
  minimum_role: source.minimum_role,
  filters: source.filter_schema,
  targets: source.connection_config?.embedding_configs.map(({ label }) => label) ?? [],
  description: source.description,
})

/** The whole of a tab: name and tabs above, the body of this one below. */
export function sourcePage(
  c: PageContext,
  { askable, source }: OpenSource,
  tab: SourceTab,
  shown: Pick<Page, 'actions' | 'body' | 'status'>,
) {
  return page(c, {
    title: askable.name,
    lead: html`<code>${askable.id}</code> ${source ? stateBadge(source) : `for ${roleAndAbove(askable.minimum_role)}`}${askable.description && html`<br />${askable.description}`}`,
    tabs: tabsOf(c, askable.id, tab, source?.documents ?? false),
    ...shown,
  })
}

/** Of those who may configure it. */
export const sourceTab = (
  c: PageContext,
  source: Source,
  tab: SourceTab,
  shown: Pick<Page, 'actions' | 'body' | 'status'>,
) => sourcePage(c, { source, askable: askableOf(source) }, tab, shown)

const tabsOf = (c: PageContext, id: string, current: SourceTab, hasDocuments: boolean): Tab[] =>
  NAMES.filter((tab) => hasRole(sessionOf(c), SOURCE_TABS[tab].for))
    .filter((tab) => tab !== 'documents' || hasDocuments)
    .map((tab) => ({ href: tabPath(id, tab), label: SOURCE_TABS[tab].label, isCurrent: tab === current }))
