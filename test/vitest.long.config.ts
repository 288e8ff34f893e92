/** What `npm run test:long` runs: whole processes, kills, installs, other people's clients and the official suite; minutes where `npm test` takes seconds. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    name: 'long',
    include: ['test/long/**/*.test.ts', 'test/conformance/**/*.test.ts', 'test/browser/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Two replicas over one database need a server: PGlite has a single connection.
    provide: { engine: 'postgres', everyLook: true },
    // One file at a time: they start processes of their own and wait for them.
    fileParallelism: false,
    testTimeout: 5 * 60_000,
    hookTimeout: 2 * 60_000,
    passWithNoTests: true,
  },
})
