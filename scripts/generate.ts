/** `npm run generate`: writes what can be read off the code, so that nobody copies it by hand. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GENERATED_FILES, ROOT } from './generated/files.ts'

for (const { path, text } of GENERATED_FILES) {
  mkdirSync(dirname(join(ROOT, path)), { recursive: true })
  writeFileSync(join(ROOT, path), text())
  console.log(`wrote ${path}`)
}
