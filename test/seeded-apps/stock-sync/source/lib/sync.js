const { itemsIn, correct } = require('./warehouse.js')
const { log } = require('./log.js')

async function syncBin(bin, counted) {
  const known = await itemsIn(bin)
  log('info', `bin ${bin}: ${known.length} items known`)
  for (const { sku, amount } of counted) {
    try {
      await correct(sku, bin, amount)
    } catch (error) {
      log('error', `correction of ${sku} failed: ${error.message}`)
    }
  }
}

module.exports = { syncBin }
