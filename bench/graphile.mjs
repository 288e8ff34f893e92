/** The queue we compare with: one job for one message, with the same body posted the same way. */
import { makeWorkerUtils, run } from 'graphile-worker'
import { post } from './notification-post.ts'

const { url, fill, localQueue } = JSON.parse(process.argv[2])

if (fill) {
  const utils = await makeWorkerUtils({ connectionString: url })
  await utils.migrate()
  await utils.addJobs(fill.map((payload) => ({ identifier: 'post', payload })))
  await utils.release()
  console.log('ready')
} else {
  const runner = await run({
    connectionString: url,
    concurrency: 32,
    pollInterval: 500,
    noHandleSignals: true,
    logger: undefined,
    ...(localQueue && { preset: { worker: { localQueue: { size: 64 } } } }),
    taskList: {
      async post({ to, body }) {
        const status = await post(to, { 'content-type': 'application/json' }, body)
        if (status !== 200) throw new Error(String(status))
      },
    },
  })
  console.log('ready')
  process.on('SIGTERM', () => void runner.stop())
}
