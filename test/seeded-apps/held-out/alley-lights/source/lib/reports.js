const reports = []

exports.note = ({ lamp, words }) => {
  reports.push({ lamp, words, at: Date.now() })
}
