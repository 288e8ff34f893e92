/** The queue we compare with: one job for one message, with the same body posted the same way. */
import { makeWorkerUtils, run } from 'graphile-worker'
import { createPost } from './notification-post.ts'

const { url, fill, localQueue, ca } = JSON.parse(process.argv[2])

if (fill) {
  const utils = await makeWorkerUtils({ connectionString: url })
  await utils.migrate()
  const jobs = Array.from({ length: fill.count }, (_, n) => ({
    identifier: 'post',
    payload: { to: fill.to.replace('{n}', String(n % fill.targets)), body: JSON.stringify([thin(n)]) },
  }))
  await utils.addJobs(jobs)
  await utils.release()
  console.log('ready')
} else {
  const post = createPost(ca)
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

/** The same object as ours, so that both post as many bytes. */
function thin(n) {
  return {
    id: `dlv_0mh6c6c6c${String(n).padStart(16, '0')}`,
    type: 'deploy.failed',
    subject: 'things/0123456789ab',
    timestamp: '2026-11-15T09:00:00.000Z',
    specversion: '1.0',
    source: '/orgs/org_0mh6c6c6c0123456789abcdef',
    time: '2026-11-15T09:00:00.000Z',
    data: {
      event_id: 'evt_0mh6c6c6c0123456789abcdef',
      organization_id: 'org_0mh6c6c6c0123456789abcdef',
      deployment_id: 'dep_1',
      code: 'BUILD_FAILED',
    },
  }
}
