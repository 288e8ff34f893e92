const { Pool } = require('pg')

const pool = new Pool()

async function itemsIn(bin) {
  const { rows } = await pool.query('SELECT sku, amount FROM stock WHERE bin = $1', [bin])
  return rows
}

/** What the counter reports wins over what we believed. */
async function correct(sku, place, amount) {
  await pool.query(
    `UPDATE stock SET amount = $3, counted_at = now()
      WHERE sku = $1 AND shelf_code = $2`,
    [sku, place, amount],
  )
}

module.exports = { itemsIn, correct }
