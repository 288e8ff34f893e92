/** What scripts/make-upgrade-fixtures.ts runs, in a checkout of the version that a fixture is of. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { onEngine } from '../vitest.config.ts'

const include = ['test/upgrade/fill.ts']

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    pool: 'forks',
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: onEngine('pglite', { name: 'embedded', include }) },
      { extends: true, test: onEngine('postgres', { name: 'postgres', include }) },
    ],
  },
})
