/**
 * `npm run generate`: writes what can be read off the code, so that nobody copies it by hand. `-- --template` makes the
 * databases of db/template.zst anew, also where neither the engine nor a migration has changed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readMigrations } from '../db/read-migrations.ts'
import { GENERATED_FILES, ROOT } from './generated/files.ts'
import { schemaFile } from './generated/schema-file.ts'
import { publishedSkills } from './generated/skills.ts'
import { isFresh, templateFile } from './generated/template.ts'

for (const { path, text } of GENERATED_FILES) write(path, text())
for (const { path, bytes } of publishedSkills(ROOT)) write(path, bytes)
write('db/schema.sql', await schemaFile(ROOT))
const migrations = await readMigrations()
if (process.argv.includes('--template') || !isFresh(migrations))
  write('db/template.zst', await templateFile(migrations))

function write(path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true })
  writeFileSync(join(ROOT, path), text)
  console.log(`wrote ${path}`)
}
