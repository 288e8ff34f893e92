/**
 * The tables of a documents source. Nobody else has a login of its database, so what is in them is what a sync has put there.
 * Every statement may be repeated.
 */
import { STAGING_SCHEMA } from '../../../db/managed/drop-staged-table.ts'
import type { DocumentsSettings } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'

/** All that is copied from one version to the next. `words` is computed. */
export const DOCUMENT_COLUMNS = [
  'path',
  'sha256',
  'bytes',
  'reader',
  'title',
  'passages',
  'problem',
  'as_of',
  'version',
].join()
export const PASSAGE_COLUMNS = [
  'id',
  'title',
  'heading',
  'passage',
  'path',
  'place',
  'sha256',
  'text_sha256',
  'as_of',
  'embedding',
].join()

/** What the newest version has replaced, for as long as it may be undone. */
export const BEFORE = { documents: 'documents_before', passages: 'passages_before' } as const

/** The name of its entry in the search configuration as well. */
export const PASSAGES = 'passages'

/** pgvector: an index takes vectors of at most 2,000 dimensions. Without one a search reads all rows. */
const INDEXED_DIMENSIONS_MAX = 2_000

export const embeddingIndex = ({ dimensions }: DocumentsSettings): string =>
  dimensions <= INDEXED_DIMENSIONS_MAX
    ? 'create index if not exists passages_embedding on public.passages using hnsw (embedding vector_cosine_ops);'
    : ''

const documentsTable = (name: string) => `create table if not exists ${name} (
  path text primary key, sha256 text not null, bytes bigint not null, reader int not null, title text not null,
  passages int not null, problem text, as_of timestamptz not null, version bigint not null)`

const passagesTable = (name: string, dimensions: number, words = '') => `create table if not exists ${name} (
  id text primary key, title text not null, heading text not null, passage text not null, path text not null,
  place int not null, sha256 text not null, text_sha256 text not null, as_of timestamptz not null,
  embedding vector(${dimensions}) not null${words})`

export async function createDocumentTables(queries: Queries, settings: DocumentsSettings): Promise<void> {
  const { dimensions, language } = settings
  const words = `, words tsvector generated always as (to_tsvector('${language}', heading || ' ' || passage)) stored`
  for (const statement of [
    `create schema if not exists ${STAGING_SCHEMA}`,
    documentsTable('public.documents'),
    passagesTable('public.passages', dimensions, words),
    'create index if not exists passages_by_path on public.passages (path, place)',
    'create index if not exists passages_by_text on public.passages (text_sha256)',
    'create index if not exists passages_words on public.passages using gin (words)',
    embeddingIndex(settings),
    `create table if not exists public.versions (version bigint primary key, published_at timestamptz not null)`,
  ]) {
    if (statement !== '') await queries.query(statement)
  }
}

export type Version = { readonly version: number; readonly publishedAt: string | null }

export async function readVersion(queries: Queries): Promise<Version> {
  const [found] = await queries.query<{ version: string; at: string }>(
    `select version::text, to_char(published_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
      from public.versions order by versions.version desc limit 1`,
  )
  return { version: Number(found?.version ?? 0), publishedAt: found?.at ?? null }
}

export const documentsConfiguration = ({
  model,
  dimensions,
  language,
}: DocumentsSettings): SearchConfiguration => ({
  connection_config: {
    embedding_configs: [
      {
        label: PASSAGES,
        table: PASSAGES,
        columns: ['embedding'],
        model,
        dimensions,
        content_columns: 'id,title,heading,passage,path,sha256,as_of',
        distance_metric: 'cosine',
        hybrid: true,
        text_search_language: language,
        text_search_column: 'words',
        fetchable: true,
      },
    ],
  },
  filter_schema: { path: 'string' },
})
