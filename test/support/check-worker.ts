/** One worker of checks as a process of its own, for tests that kill it. Its host answers 500; its leases are short. */
import { connect } from '../../db/connect.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { startChecks } from '../../src/worker/checks.ts'

export type CheckWorkerSettings = {
  readonly url: string
  readonly dataKey: string
  readonly leaseSeconds: number
}

const { url, dataKey, leaseSeconds } = JSON.parse(process.argv[2]!) as CheckWorkerSettings
const { db, close } = await connect({ url }, { poolSize: 4 })
const checks = startChecks(
  {
    db,
    clock: () => new Date(),
    log: { warn: (event, fields) => void process.stderr.write(`${event} ${String(fields?.['error'])}\n`) },
    dataKeys: dataKeys(dataKey),
    judge: null,
    // It takes a while, so that a kill comes in the midst of some, also on a machine that looks late.
    probeHttp: async () => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_000))
      return { kind: 'answered', status: 500, timeMs: 1, body: '', isPrivate: false }
    },
    matchLines: async () => 0,
  },
  { leaseSeconds, expireClaimsMs: 200 },
)
process.on('SIGTERM', () => {
  void checks
    .stop()
    .then(close)
    .then(() => process.exit(0))
})
process.stdout.write('ready\n')
