/** Seals the trail as a process of its own, for tests that kill it right before it commits the batch of that number. */
import { connect } from '../../db/connect.ts'
import { sealTrail } from '../../src/cores/trail/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { pauseBeforeCommit } from './pause-before-commit.ts'
import { realClock } from './process.ts'

export type SealWorkerSettings = {
  readonly url: string
  readonly dataKey: string
  readonly pausingAt: number
}

const { url, dataKey, pausingAt } = JSON.parse(process.argv[2]!) as SealWorkerSettings
const { db } = await connect({ url }, { poolSize: 2 })
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }
await sealTrail({ db: pauseBeforeCommit(db, pausingAt), clock: realClock, dataKeys: dataKeys(dataKey), log })
