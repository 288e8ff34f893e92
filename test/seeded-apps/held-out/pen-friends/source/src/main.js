import { createServer } from 'node:http'
import { deliver } from './deliver.js'

createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  console.log(`info letter ${body}`)
  response.end(deliver(body))
}).listen(8080)
