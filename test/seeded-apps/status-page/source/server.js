const http = require('node:http')
const { render } = require('./render.js')
const { poll } = require('./poll.js')

http
  .createServer(async (request, response) => {
    if (request.url !== '/') {
      console.log(`GET ${request.url} 404`)
      return response.writeHead(404).end()
    }
    const page = render(await poll())
    console.log(`GET / 200`)
    response.end(page)
  })
  .listen(8080, () => console.log('listening on 8080'))
