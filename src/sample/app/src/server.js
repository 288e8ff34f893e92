import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { totalOf } from './orders.js'

createServer(async (request, response) => {
  try {
    const order = await json(request)
    const total = totalOf(order)
    console.log(`order ${order.id} placed: ${order.items.length} items, ${total} EUR`)
    response.writeHead(201).end(JSON.stringify({ total }))
  } catch (error) {
    console.error(`${request.method} ${request.url} 500: ${error.stack}`)
    response.writeHead(500).end()
  }
}).listen(8080)
