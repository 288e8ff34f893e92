/**
 * The tables of a documents source. Nobody else has a login of its database, so what is in them is what a sync has put there.
 * Every statement may be repeated.
 */
import { STAGING_SCHEMA } from '../../../db/managed/drop-staged-table.ts'
import type { DocumentsSettings } from '../../../db/schema.ts'
import type { SearchConfiguration } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { PASSAGES } from '../search/index.ts'

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
  'access',
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
  'access',
].join()

/** What the newest version has replaced, for as long as it may be undone. */
export const BEFORE = { documents: 'documents_before', passages: 'passages_before' } as const

/** Of documents what they say themselves, or null; of passages who sees them. */
export const ACCESS = 'access'

/**
 * Who sees each document, as `rule_path` and `rule_access`: what it says itself, else what the nearest `access.yaml` above it
 * says, else everyone.
 */
export const ACCESS_RULES = `rules as materialized (
    select d.path, d.access from public.documents d where d.path ~ '(^|/)access[.]yaml$'),
  access_rules as materialized (
    select distinct on (d.path) d.path as rule_path, coalesce(d.access, r.access, '{everyone}') as rule_access
      from public.documents d
      cross join lateral unnest(string_to_array(d.path, '/')) with ordinality as names (name, depth)
      left join rules r
        on r.path = array_to_string((string_to_array(d.path, '/'))[1:depth::int - 1] || 'access.yaml'::text, '/')
      order by d.path, r.path is null, depth desc)`

/** After the documents have changed: of passages that stayed, too, since a folder may say something else now. */
export const APPLY_ACCESS = `with ${ACCESS_RULES} update public.passages p set access = rule_access
  from access_rules where rule_path = p.path and p.access is distinct from rule_access;`

/** pgvector: an index takes vectors of at most 2,000 dimensions. Without one a search reads all rows. */
const INDEXED_DIMENSIONS_MAX = 2_000

export const embeddingIndex = ({ dimensions }: DocumentsSettings): string =>
  dimensions <= INDEXED_DIMENSIONS_MAX
    ? 'create index if not exists passages_embedding on public.passages using hnsw (embedding vector_cosine_ops);'
    : ''

const documentsTable = (name: string) => `create table if not exists ${name} (
  path text primary key, sha256 text not null, bytes bigint not null, reader int not null, title text not null,
  passages int not null, problem text, as_of timestamptz not null, version bigint not null, access text[])`

const passagesTable = (name: string, dimensions: number, words = '') => `create table if not exists ${name} (
  id text primary key, title text not null, heading text not null, passage text not null, path text not null,
  place int not null, sha256 text not null, text_sha256 text not null, as_of timestamptz not null,
  embedding vector(${dimensions}) not null, access text[] not null${words})`

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
    'create index if not exists passages_access on public.passages using gin (access)',
    embeddingIndex(settings),
    `create table if not exists public.versions (version bigint primary key, published_at timestamptz not null)`,
  ]) {
    if (statement !== '') await queries.query(statement)
  }
}

/** To those of a source that was made before there was row access. */
export async function addAccess(queries: Queries): Promise<void> {
  for (const schema of ['public', STAGING_SCHEMA]) {
    const of = (name: string) => `${schema}.${schema === 'public' ? name : `${name}_before`}`
    await queries.query(`alter table if exists ${of('documents')} add column if not exists access text[]`)
    await queries.query(
      `alter table if exists ${of('passages')} add column if not exists access text[] not null default '{everyone}'`,
    )
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
  access_column: ACCESS,
})
