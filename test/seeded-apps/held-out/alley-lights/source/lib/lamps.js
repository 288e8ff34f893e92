const lamps = require('../lamps.json')

exports.lampOf = (id) => {
  const lamp = lamps.find((each) => each.id === id)
  return { id, street: lamp.street, on: lamp.on }
}
