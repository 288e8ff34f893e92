/** Expires deployments in a process of its own; `killed`: which dies by SIGKILL when all is written and nothing committed. */
import { subscribe } from 'node:diagnostics_channel'
import { connect } from '../../db/connect.ts'
import { expireDeployments } from '../../src/cores/deployments/index.ts'

const [url, killed] = process.argv.slice(2)
// Published after the event was inserted, in the transaction of the change.
if (killed === 'killed') subscribe('svc.event-recorded', () => process.kill(process.pid, 'SIGKILL'))
const { db, close } = await connect({ url: url! })
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }
await expireDeployments({ db, clock: () => new Date(), log }, { since: new Date(0) })
await close()
