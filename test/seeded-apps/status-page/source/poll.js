const SERVICES = (process.env.SERVICES ?? '').split(',').filter(Boolean)

exports.poll = () =>
  Promise.all(
    SERVICES.map(async (name) => {
      try {
        const answer = await fetch(`https://${name}/health`, { signal: AbortSignal.timeout(2000) })
        return { name, isUp: answer.ok }
      } catch (error) {
        console.error(`ERROR ${name}: ${error.message}`)
        return { name, isUp: false }
      }
    }),
  )
