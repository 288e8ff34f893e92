/** What `npm run mutants` runs against each planted fault: the units beside the files, and the walks that were asked for. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { matching } from './matching.ts'
import { onEngine } from './vitest.config.ts'

const listed = (name: string) => (process.env[name] ?? '').split(',').filter(Boolean)
const units = listed('MUTANTS_FILES').map((file) => file.replace(/\.ts(:.*)?$/, '.test.ts'))
const walks = listed('MUTANTS_WALKS').map((name) => `test/walks/${name}.test.ts`)

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    ...onEngine('postgres', {
      include: [...new Set(units)].filter((file) => existsSync(file)).concat(matching(...walks)),
    }),
    ...(walks.length === 0 && { globalSetup: [], setupFiles: [] }),
  },
})
