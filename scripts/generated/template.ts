/** db/template.zst: the databases that installations begin with, made anew and packed. db/template.ts unpacks them. */
import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { constants, zstdCompressSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { connect } from '../../db/connect.ts'
import { openDatabaseFolder } from '../../db/embedded.ts'
import { addVector } from '../../db/managed/new-database.ts'
import { migrate } from '../../db/migrate.ts'
import { type Migration } from '../../db/read-migrations.ts'
import {
  installedEngine,
  readTemplate,
  type TemplateFile,
  type TemplateIndex,
  type TemplateKind,
  type TemplateOrigin,
} from '../../db/template.ts'

/** What a template has to be made with today. */
export const templateOrigin = (migrations: readonly Migration[]): TemplateOrigin => ({
  ...installedEngine(),
  migrations: migrations.map(({ name, sha256 }) => ({ name, sha256 })),
})

/** Two packed templates are never the same bytes, so one that is fresh is left as it is. */
export function isFresh(migrations: readonly Migration[], file?: string): boolean {
  const template = readTemplate(file)
  if (!template) return false
  const { pglite, pgvector, migrations: applied } = template.index
  return isDeepStrictEqual({ pglite, pgvector, migrations: applied }, templateOrigin(migrations))
}

export async function templateFile(migrations: readonly Migration[]): Promise<Buffer> {
  const parent = await mkdtemp(join(tmpdir(), 'svc-template-'))
  try {
    return pack(templateOrigin(migrations), await makeTemplateFolders(parent, migrations))
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
}

/** Both begin as copies of one, so that most of their pages are the same bytes. */
export async function makeTemplateFolders(
  parent: string,
  migrations: readonly Migration[],
): Promise<Record<TemplateKind, string>> {
  const [empty, control, managed] = ['empty', 'control', 'managed'].map((name) => join(parent, name)) as [
    string,
    string,
    string,
  ]
  await makeEmpty(empty)
  for (const copy of [control, managed]) cpSync(empty, copy, { recursive: true })
  const { sql, close } = await connect({ embedded: openDatabaseFolder(control) })
  await migrate(sql, migrations)
  await close()
  await addVector(managed)
  for (const folder of [control, managed]) await emptyLog(folder)
  return { control, managed }
}

/** Without the databases that others are copied from: two thirds of the files, for which nobody here has a use. */
async function makeEmpty(folder: string): Promise<void> {
  const database = await PGlite.create(folder)
  await database.query(`update pg_database set datistemplate = false`)
  await database.query('drop database template1')
  await database.query('drop database template0')
  await database.close()
}

/** What the write-ahead log holds is in the tables by now, and would be the larger part of the file. */
async function emptyLog(folder: string): Promise<void> {
  const database = await PGlite.create(folder, { extensions: { vector } })
  await database.exec('set wal_recycle = off; checkpoint; select pg_switch_wal(); checkpoint')
  await database.close()
}

function pack(origin: TemplateOrigin, folders: Record<TemplateKind, string>): Buffer {
  const contents = new Contents()
  const [control, managed] = [readFolder(folders.control, contents), readFolder(folders.managed, contents)]
  const index: TemplateIndex = {
    ...origin,
    folders: { control: control.folders, managed: managed.folders },
    files: { control: control.files, managed: managed.files },
  }
  const text = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  return zstdCompressSync(Buffer.concat([length, text, ...contents.parts]), {
    params: {
      [constants.ZSTD_c_compressionLevel]: 19,
      [constants.ZSTD_c_windowLog]: 25,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  })
}

function readFolder(folder: string, contents: Contents): { folders: string[]; files: TemplateFile[] } {
  const folders: string[] = []
  const files: TemplateFile[] = []
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (statSync(join(folder, path)).isDirectory()) folders.push(path)
    else if (path !== 'postmaster.pid') {
      const bytes = readFileSync(join(folder, path))
      files.push({ path, size: bytes.length, ...contents.add(bytes) })
    }
  }
  return { folders, files }
}

class Contents {
  readonly parts: Buffer[] = []
  readonly #known = new Map<string, Pick<TemplateFile, 'start' | 'end'>>()
  #length = 0

  add(bytes: Buffer): Pick<TemplateFile, 'start' | 'end'> {
    let end = bytes.length
    while (end > 0 && bytes[end - 1] === 0) end -= 1
    const part = bytes.subarray(0, end)
    const digest = createHash('sha256').update(part).digest('hex')
    const known = this.#known.get(digest)
    if (known) return known
    const place = { start: this.#length, end: this.#length + part.length }
    this.parts.push(part)
    this.#length = place.end
    this.#known.set(digest, place)
    return place
  }
}
