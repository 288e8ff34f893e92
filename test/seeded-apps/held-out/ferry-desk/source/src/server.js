import { createServer } from 'node:http'
import { log } from './log.js'
import { crossingsOn } from './crossings.js'

createServer((request, response) => {
  const url = new URL(request.url, 'http://desk')
  try {
    const body = JSON.stringify(crossingsOn(url.searchParams.get('day')))
    log.info({ path: url.pathname, status: 200 }, 'request completed')
    response.end(body)
  } catch (error) {
    log.error({ err: error, path: url.pathname }, 'request failed')
    response.writeHead(500).end()
  }
}).listen(8080)
