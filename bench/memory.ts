/** Memory of the whole product at rest, against an empty Node process with the same database open. */
import { join } from 'node:path'
import {
  file,
  freePort,
  inTemporaryFolder,
  residentMiB,
  run,
  startServer,
  untilAnswers,
  untilSays,
} from './programs.ts'

const REST_MS = 5000

export const memory = () =>
  inTemporaryFolder(async (folder) => {
    const port = await freePort()
    const ours = startServer(folder, port)
    await untilAnswers(`http://localhost:${port}/readyz`, ours)
    await ours.stop()
    const again = startServer(folder, port)
    await untilAnswers(`http://localhost:${port}/readyz`, again)
    await rest()
    const our = residentMiB(again)
    await again.stop()
    const bare = run([file('bare-pglite.ts'), join(folder, 'db')])
    await untilSays('ready', bare)
    await rest()
    const their = residentMiB(bare)
    await bare.stop()
    return [
      `Node + bare PGlite   ${their.toFixed(0)} MiB`,
      `svc at rest          ${our.toFixed(0)} MiB`,
      `ratio                ${(our / their).toFixed(2)}x`,
    ]
  })

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS))
