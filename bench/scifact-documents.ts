/**
 * What dividing costs: SciFact's abstracts joined into documents of ten, synced and asked by passages, beside the same abstracts
 * as rows of a table. And whether the address of a hit opens the abstract that was found.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createDocumentReader } from '../src/adapters/documents/index.ts'
import {
  fetchDataSourceRow,
  queryDataSource,
  setDataSourceExposure,
  setDataSourceState,
} from '../src/contracts/data-sources.ts'
import { createDocuments, showDocuments, syncDocuments } from '../src/contracts/documents.ts'
import { BUILT_IN_MODEL } from '../src/contracts/embedding-settings.ts'
import { LOAD_PART_BYTES } from '../src/contracts/limits.ts'
import { uploadLoadPart } from '../src/contracts/loads.ts'
import { findSource, openSource } from '../src/cores/databases/index.ts'
import { takeLoadStep } from '../src/cores/loads/index.ts'
import { hybridRows } from '../src/cores/search/hybrid-rows.ts'
import { vectorsOf } from './kept-vectors.ts'
import { inTemporaryFolder } from './programs.ts'
import { metOrMissed } from './results.ts'
import {
  CONFIGURATION,
  fill,
  FOLDER,
  HITS,
  judge,
  readClaims,
  readDocs,
  textOf,
  through,
  type Claim,
  type Doc,
  type Ranking,
} from './scifact.ts'
import { knownVectors, makeSource, startSourceSystem, type SourceSystem } from './source-system.ts'

const JOINED = 10
/** The same of all, so that a passage is the same text whatever it is joined with. */
const TITLE = 'Abstracts'
const SHARE = 0.97
/** All of them take an hour to embed at the first run: fewer are those that some claim is about, and then the others. */
const ABSTRACTS = Number(process.env['SCIFACT_ABSTRACTS'] ?? Infinity)

type Volume = { readonly path: string; readonly content: Buffer; readonly abstracts: readonly Doc[] }

export const scifactDocuments = async () => {
  if (!existsSync(join(FOLDER, 'corpus.jsonl'))) {
    return ['left out: SCIFACT_DIR names no folder with corpus.jsonl, queries.jsonl and qrels/test.tsv']
  }
  const docs = chosen(readDocs(), readClaims())
  const known = new Set(docs.map(({ id }) => id))
  const claims = readClaims().filter(
    ({ relevant }) => relevant.size > 0 && [...relevant].every((id) => known.has(id)),
  )
  const volumes = joined(docs)
  const texts = [...claims.map(({ text }) => text), ...docs.map(textOf), ...(await passageTexts(volumes))]
  const vectors = await vectorsOf(texts)
  return inTemporaryFolder(async (folder) => {
    const models = {
      ...knownVectors(BUILT_IN_MODEL.name, BUILT_IN_MODEL.dimensions, (text) => vectors.get(text)),
      takesBulk: () => true,
    }
    const ours = await startSourceSystem({ SVC_DATA_DIR: folder }, models)
    try {
      await makeSource(ours, 'scifact', CONFIGURATION, (sql) => fill(sql, docs, vectors))
      await sync(ours, volumes)
      return await compare(ours, claims, docs, volumes, vectors)
    } finally {
      await ours.stop()
    }
  })
}

function chosen(docs: readonly Doc[], claims: readonly Claim[]): Doc[] {
  const relevant = new Set(claims.flatMap((claim) => [...claim.relevant]))
  const first = docs.filter(({ id }) => relevant.has(id))
  const others = docs.filter(({ id }) => !relevant.has(id))
  return [...first, ...others].slice(0, ABSTRACTS)
}

/** In an order that has nothing to do with what they are about. */
function joined(docs: readonly Doc[]): Volume[] {
  const digest = ({ id }: Doc) => createHash('sha256').update(id).digest('hex')
  const mixed = docs.toSorted((a, b) => (digest(a) < digest(b) ? -1 : 1))
  return Array.from({ length: Math.ceil(mixed.length / JOINED) }, (_, at) => {
    const abstracts = mixed.slice(at * JOINED, (at + 1) * JOINED)
    const body = abstracts.map(({ title, text }) => `<h2>${escaped(title)}</h2><p>${escaped(text)}</p>`)
    const content = Buffer.from(`<title>${TITLE}</title>${body.join('\n')}`)
    return { path: `volume-${at}.html`, content, abstracts }
  })
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

async function passageTexts(volumes: readonly Volume[]): Promise<string[]> {
  const reader = createDocumentReader()
  const texts: string[] = []
  try {
    for (const { path, content } of volumes) {
      const read = await reader.readDocument('bench', { path, content: new Uint8Array(content) })
      if ('problem' in read) throw new Error(`${path}: ${read.problem}`)
      texts.push(...read.passages.map(({ heading, text }) => `${heading}\n${text}`))
    }
  } finally {
    await reader.close()
  }
  return texts
}

const NAME = 'volumes'

async function sync({ call, deps }: SourceSystem, volumes: readonly Volume[]): Promise<void> {
  const source_id = `db_${NAME}`
  await call(createDocuments, { name: NAME })
  await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true })
  const files = volumes.map(({ path, content }) => ({
    path,
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: content.length,
  }))
  const { sync: load, missing } = await call(syncDocuments, { name: NAME, files })
  const byPath = new Map(volumes.map(({ path, content }) => [path, content]))
  const content = Buffer.concat(missing.map((path) => byPath.get(path)!))
  for (let offset = 0; offset < content.length; offset += LOAD_PART_BYTES) {
    const body = new Uint8Array(content.subarray(offset, offset + LOAD_PART_BYTES))
    await call(uploadLoadPart, { load_id: load!.id, offset, body })
  }
  while (await takeLoadStep(deps, new AbortController().signal));
  const held = await call(showDocuments, { name: NAME })
  if (held.documents !== volumes.length) throw new Error(`not synced: ${JSON.stringify(held.sync)}`)
}

async function compare(
  ours: SourceSystem,
  claims: readonly Claim[],
  docs: readonly Doc[],
  volumes: readonly Volume[],
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<string[]> {
  const abstractOf = abstractFinder(volumes)
  const single = await judge(claims, through(ours, 'both'))
  const passages = await judge(claims, await byPassages(ours, vectors, abstractOf))
  const share = passages.ndcg / single.ndcg
  const { cited, right } = await citations(ours, claims, abstractOf)
  return [
    `${claims.length} claims to ${docs.length} abstracts, as rows and in ${volumes.length} documents of ${JOINED}; hybrid, nDCG@${HITS}, embedded`,
    `single abstracts         ${single.ndcg.toFixed(4)}`,
    `passages of documents    ${passages.ndcg.toFixed(4)}, ${(100 * share).toFixed(1)} % (target ${100 * SHARE} %: ${metOrMissed(share >= SHARE)})`,
    `citations                ${right} of ${cited} open the passage that was found, in its abstract (target all: ${metOrMissed(right === cited)})`,
  ]
}

type AbstractOf = (path: string, heading: string) => string | undefined

/** By the last heading, which may be the beginning of a long title. */
function abstractFinder(volumes: readonly Volume[]): AbstractOf {
  const byPath = new Map(volumes.map((volume) => [volume.path, volume.abstracts]))
  const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
  return (path, heading) => {
    const last = heading.replace(`${TITLE} > `, '')
    return byPath.get(path)?.find(({ title }) => plain(title).startsWith(last))?.id
  }
}

/** Before passages of one document become one hit: an abstract stands where its best passage does. */
async function byPassages(
  { deps, owner }: SourceSystem,
  vectors: ReadonlyMap<string, Float32Array>,
  abstractOf: AbstractOf,
): Promise<Ranking> {
  const source = (await findSource(deps.db, owner.orgId, `db_${NAME}`))!
  const queries = openSource(deps, source)
  const [entry] = source.configuration!.connection_config.embedding_configs
  const tableInfo = (await deps.tableInfo.read(queries, entry!.table, new Date()))!
  const statistics = source.wordStatistics?.[entry!.label]
  return async ({ text }) => {
    const search = {
      entry: entry!,
      tableInfo,
      statistics,
      vector: vectors.get(text)!,
      filters: [],
      access: 'all' as const,
      limit: 3 * HITS,
    }
    const hits = await hybridRows(queries, search, text)
    return [...new Set(hits.map(({ metadata }) => found(metadata, abstractOf)))].filter(
      (id) => id !== undefined,
    )
  }
}

const found = ({ path, heading }: Record<string, unknown>, abstractOf: AbstractOf) =>
  abstractOf(String(path), String(heading))

async function citations({ call }: SourceSystem, claims: readonly Claim[], abstractOf: AbstractOf) {
  const source_id = `db_${NAME}`
  let [cited, right] = [0, 0]
  for (const { text } of claims) {
    const [best] = (await call(queryDataSource, { source_id, query: text, top_k: 3 })).results
    if (!best) continue
    const path = String(best.metadata['path'])
    const told = [
      { id: best.id, url: best.url, heading: String(best.metadata['heading']) },
      ...(best.passages ?? []),
    ]
    for (const one of told) {
      cited += 1
      const handle = new URL(one.url!).pathname.split('/').at(-1)!
      const { hit } = await call(fetchDataSourceRow, { source_id, handle })
      const isSame = hit.id === one.id && hit.passages?.some(({ id }) => id === one.id)
      const abstract = abstractOf(path, one.heading)
      if (isSame && abstract !== undefined && found(hit.metadata, abstractOf) === abstract) right += 1
    }
  }
  return { cited, right }
}
