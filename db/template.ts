/**
 * Databases to begin with, packed into db/template.zst: making one takes 10 s of CPU, unpacking it a tenth of one. Written
 * by `npm run generate`, the same for every architecture, and never needed: what does not fit is made the long way.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
// Node 23.6 and 23.7 run TypeScript and have no zstd: named, this import would end the program there.
import * as zlib from 'node:zlib'
import type { Migration } from './read-migrations.ts'

const TEMPLATE_FILE = fileURLToPath(new URL('./template.zst', import.meta.url))

/** Ours with all migrations applied, and a managed one with the extension `vector`. */
export type TemplateKind = 'control' | 'managed'

/** What the databases were made with. */
export type TemplateOrigin = {
  readonly pglite: string
  readonly pgvector: string
  readonly migrations: readonly Pick<Migration, 'name' | 'sha256'>[]
}

/** Equal contents are stored once, and without the zeros at their end. */
export type TemplateIndex = TemplateOrigin & {
  readonly folders: Readonly<Record<TemplateKind, readonly string[]>>
  readonly files: Readonly<Record<TemplateKind, readonly TemplateFile[]>>
}
export type TemplateFile = {
  readonly path: string
  readonly size: number
  readonly start: number
  readonly end: number
}

export type Template = { readonly index: TemplateIndex; readonly contents: Buffer }

/** Undefined where it cannot be read. */
export function readTemplate(file = TEMPLATE_FILE): Template | undefined {
  try {
    return parse(zlib.zstdDecompressSync(readFileSync(file)))
  } catch (error) {
    return unreadable(error)
  }
}

/** As above, while others are answered. */
async function readTemplateInTurns(file: string): Promise<Template | undefined> {
  try {
    return parse(await promisify(zlib.zstdDecompress)(await readFile(file)))
  } catch (error) {
    return unreadable(error)
  }
}

/** The first four bytes are the length of the index. */
function parse(bytes: Buffer): Template {
  const length = bytes.readUInt32LE(0)
  const index = JSON.parse(bytes.toString('utf8', 4, 4 + length)) as TemplateIndex
  return { index, contents: bytes.subarray(4 + length) }
}

function unreadable(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
  process.emitWarning('db/template.zst cannot be read: new databases take some seconds longer to make', {
    detail: error instanceof Error ? error.message : '',
  })
}

/** Into an empty folder. False where the template does not fit, and then the folder stays empty. */
export function unpackControlTemplate(
  folder: string,
  migrations: readonly Migration[],
  file?: string,
): boolean {
  const template = readTemplate(file)
  if (!template || !fitsControl(template.index, migrations)) return false
  unpack(template, 'control', folder)
  return true
}

/** As above, while others are answered: a running server makes them. */
export async function unpackManagedTemplate(folder: string, file = TEMPLATE_FILE): Promise<boolean> {
  const template = await readTemplateInTurns(file)
  if (!template || !fitsManaged(template.index)) return false
  await unpackInTurns(template, 'managed', folder)
  return true
}

/** Migrations that it lacks are applied afterwards; one that has changed cannot be taken back. */
export function fitsControl(
  { pglite, migrations }: TemplateOrigin,
  wanted: readonly Migration[],
  installed = installedEngine(),
): boolean {
  return (
    pglite === installed.pglite &&
    migrations.every(({ name, sha256 }, at) => wanted[at]?.name === name && wanted[at].sha256 === sha256)
  )
}

export const fitsManaged = ({ pglite, pgvector }: TemplateOrigin, installed = installedEngine()): boolean =>
  pglite === installed.pglite && pgvector === installed.pgvector

export function installedEngine(): Pick<TemplateOrigin, 'pglite' | 'pgvector'> {
  return { pglite: versionOf('@electric-sql/pglite'), pgvector: versionOf('@electric-sql/pglite-pgvector') }
}

/** Where its package says no version, nothing fits. */
function versionOf(name: string): string {
  const manifest = findPackageJSON(name, import.meta.url)
  return manifest === undefined
    ? ''
    : (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

/** A thousand small files: several times as fast as asynchronously. */
function unpack(template: Template, kind: TemplateKind, folder: string): void {
  for (const path of template.index.folders[kind]) mkdirSync(join(folder, path), { mode: 0o700 })
  for (const file of template.index.files[kind]) writeFile(template, file, folder)
}

/** So many take about half a millisecond. */
const FILES_A_TURN = 8

async function unpackInTurns(template: Template, kind: TemplateKind, folder: string): Promise<void> {
  for (const path of template.index.folders[kind]) mkdirSync(join(folder, path), { mode: 0o700 })
  for (const [at, file] of template.index.files[kind].entries()) {
    if (at % FILES_A_TURN === 0) await nextTurn()
    writeFile(template, file, folder)
  }
}

function writeFile({ contents }: Template, { path, size, start, end }: TemplateFile, folder: string): void {
  const file = openSync(join(folder, path), 'wx', 0o600)
  try {
    writeFileSync(file, contents.subarray(start, end))
    if (end - start < size) ftruncateSync(file, size)
  } finally {
    closeSync(file)
  }
}
