exports.render = (services) =>
  services.map(({ name, isUp }) => `<li>${name}: ${isUp ? 'up' : 'down'}</li>`).join('\n')
