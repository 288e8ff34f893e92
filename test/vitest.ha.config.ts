/** What `npm run test:ha` runs: a real Postgres cluster that fails over. Ten minutes; root, and the programs of a cluster. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { matching } from './matching.ts'
import { recordProof } from './record-proof.ts'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    reporters: ['default', recordProof('cluster')],
    projects: [
      {
        test: {
          name: 'cluster',
          globalSetup: ['test/support/cluster-setup.ts'],
          include: matching('test/ha/*.test.ts'),
          fileParallelism: false,
          provide: { engine: 'postgres', auth: 'self' },
        },
      },
    ],
  },
})
