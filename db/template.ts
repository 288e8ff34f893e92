/**
 * Databases to begin with, packed into db/template.zst: making one takes 10 s of CPU, unpacking it a tenth of one. Written
 * by `npm run generate`, the same for every architecture, and never needed: what does not fit is made the long way.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { zstdDecompressSync } from 'node:zlib'
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

/** Undefined where it is missing. Its first four bytes are the length of the index. */
export function readTemplate(file = TEMPLATE_FILE): Template | undefined {
  const packed = readIfThere(file)
  if (!packed) return undefined
  const bytes = zstdDecompressSync(packed)
  const length = bytes.readUInt32LE(0)
  const index = JSON.parse(bytes.toString('utf8', 4, 4 + length)) as TemplateIndex
  return { index, contents: bytes.subarray(4 + length) }
}

/** Into an empty folder. False where the template does not fit, and then the folder stays empty. */
export function unpackControlTemplate(folder: string, migrations: readonly Migration[]): boolean {
  const template = readTemplate()
  if (!template || !fitsControl(template.index, migrations)) return false
  unpack(template, 'control', folder)
  return true
}

/** As above. */
export function unpackManagedTemplate(folder: string): boolean {
  const template = readTemplate()
  if (!template || !fitsManaged(template.index)) return false
  unpack(template, 'managed', folder)
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

function versionOf(name: string): string {
  const main = createRequire(import.meta.url).resolve(name)
  const manifest = join(main.slice(0, main.lastIndexOf(name) + name.length), 'package.json')
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

/** A thousand small files: several times as fast as asynchronously. */
function unpack({ index, contents }: Template, kind: TemplateKind, folder: string): void {
  for (const path of index.folders[kind]) mkdirSync(join(folder, path), { mode: 0o700 })
  for (const { path, size, start, end } of index.files[kind]) {
    const file = openSync(join(folder, path), 'wx', 0o600)
    try {
      writeFileSync(file, contents.subarray(start, end))
      if (end - start < size) ftruncateSync(file, size)
    } finally {
      closeSync(file)
    }
  }
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
