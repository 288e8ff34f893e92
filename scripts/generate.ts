/** `npm run generate`: writes what can be read off the code, so that nobody copies it by hand. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GENERATED_FILES, ROOT } from './generated/files.ts'
import { schemaFile } from './generated/schema-file.ts'

for (const { path, text } of GENERATED_FILES) write(path, text())
write('db/schema.sql', await schemaFile(ROOT))

function write(path: string, text: string): void {
  writeFileSync(join(ROOT, path), text)
  console.log(`wrote ${path}`)
}
