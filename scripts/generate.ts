/**
 * `npm run generate`: writes what can be read off the code, so that nobody copies it by hand. `-- --template` makes the
 * databases of db/template.zst anew, also where neither the engine nor a migration has changed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readMigrations } from '../db/read-migrations.ts'
import { OPERATION_TABLES } from './generated/operation-tables.ts'

const ROOT = join(import.meta.dirname, '..')

for (const { path, text } of OPERATION_TABLES) write(path, text())
// All others import them.
const { GENERATED_FILES } = await import('./generated/files.ts')
const { schemaFile } = await import('./generated/schema-file.ts')
const { publishedSkills } = await import('./generated/skills.ts')
const { kernelFile } = await import('./generated/kernel.ts')
const { isFresh, templateFile } = await import('./generated/template.ts')
const migrations = await readMigrations()
const isTemplateDue = process.argv.includes('--template') || !isFresh(migrations)
// All of them first: where one cannot be made, none is written.
const files: [path: string, text: string | Buffer][] = [
  ...GENERATED_FILES.map(({ path, text }): [string, string] => [path, text()]),
  ...publishedSkills(ROOT).map(({ path, bytes }): [string, Buffer] => [path, bytes]),
  ['src/adapters/embeddings/kernel.wasm', await kernelFile()],
  ['db/schema.sql', await schemaFile(ROOT)],
  ...(isTemplateDue ? [['db/template.zst', await templateFile(migrations)] as [string, Buffer]] : []),
]
for (const [path, text] of files) write(path, text)

function write(path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true })
  writeFileSync(join(ROOT, path), text)
  console.log(`wrote ${path}`)
}
