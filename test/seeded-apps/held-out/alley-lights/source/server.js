const express = require('express')
const { lampOf } = require('./lib/lamps')
const { note } = require('./lib/reports')

const app = express()
app.post('/reports', express.json(), (request, response) => {
  console.log(`INFO report: ${request.body.words}`)
  note(request.body)
  response.sendStatus(204)
})
app.get('/lamps/:id', (request, response) => {
  response.json(lampOf(request.params.id))
})
app.listen(8080)
