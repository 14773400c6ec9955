// Runs before every npm script, with whatever Node the machine has: installs the dependencies, Node 24 among them.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const installed = join(root, 'node_modules', '.package-lock.json')
const wanted = join(root, 'package-lock.json')

// `npm ci` would be the obvious command, but it refuses a lockfile that lacks an optional package of another platform,
// and npm leaves those out where a registry doesn't serve them. `npm install --no-save` takes the locked versions too.
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(wanted).mtimeMs) {
  console.error('installing dependencies (npm install, about a minute) ...')
  const npm = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) {
    console.error('npm install failed: see above. Is the npm registry reachable, and is npm 10 or newer installed?')
    process.exit(npm.status ?? 1)
  }
}
