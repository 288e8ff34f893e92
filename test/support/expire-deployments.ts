/** Expires deployments in a process of its own; `killed`: which dies by SIGKILL when all is written and nothing committed. */
import { connect } from '../../db/connect.ts'
import { expireDeployments } from '../../src/cores/deployments/index.ts'

const [url, killed] = process.argv.slice(2)
const { db, close } = await connect({ url: url! })
if (killed === 'killed') {
  const transaction = db.transaction.bind(db)
  db.transaction = (work, ...how) =>
    transaction(
      async (tx) => {
        await work(tx)
        process.kill(process.pid, 'SIGKILL')
        return new Promise<never>(() => {})
      },
      ...how,
    )
}
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }
await expireDeployments({ db, clock: () => new Date(), log }, { since: new Date(0) })
await close()
