/** Generated files are committed together with their cause. db/schema.sql is asked in schema.test.ts. */
import { expect, test } from 'vitest'
import { GENERATED_FILES } from '../../scripts/generated/files.ts'
import { readText } from './source-tree.ts'

test.each(GENERATED_FILES)('$path is fresh', ({ path, text }) => {
  expect(readText(path), 'run: npm run generate').toBe(text())
})
