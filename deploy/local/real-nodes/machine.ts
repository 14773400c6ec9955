// What a real node needs of this machine, and may leave on it.
import { execFile } from 'node:child_process'
import { access, readdir, readFile, readlink, statfs } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../server-binaries.ts'
import { nodeServers, type ServerName } from '../server-versions.ts'
import { addresses, cable } from './addresses.ts'
import { cgroupFolders, processesInside } from './cgroups.ts'
import { cniFolder } from './node-config.ts'

const run = promisify(execFile)

/** Commands, and plugins of the container network interface, by the packages of Debian that have them. */
const packages: Readonly<Record<string, readonly string[]>> = {
  'util-linux': ['unshare', 'nsenter', 'mount'],
  iproute2: ['ip'],
  nftables: ['nft'],
  runc: ['runc'],
  'containernetworking-plugins': [`${cniFolder}/ptp`, `${cniFolder}/host-local`],
}

/** Errors: what the machine lacks, with the command that installs it. */
export async function requireMachine(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Error('a real node is made of namespaces and mounts, which takes root on Linux: use sudo')
  const lacks: string[] = []
  for (const [name, files] of Object.entries(packages))
    if (!(await Promise.all(files.map(isThere))).every(Boolean)) lacks.push(name)
  if (lacks.length > 0) throw new Error(`${lacks.join(', ')}: not installed; apt-get install --yes ${lacks.join(' ')}`)
}

/** What a run needs. It prints what it took: 1.5 GB of each, and the first one builds servers and images. */
export const needs = { diskGb: 6, memoryGb: 4 } as const

/**
 * Errors: the disk of a folder has not the room, which is named. `joined`: kubelets have the thresholds that Joiner gave to their VMs, and evict pods from a
 * disk that is nearly full.
 */
export async function requireDisk(folder: string, joined: boolean): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(folder)
  const free = (bavail * bsize) / 1e9
  const tenth = (blocks * bsize) / 1e10
  const why = ', of which a tenth of the disk stays free, or kubelets evict pods'
  const [least, more] = joined && tenth + 2 > needs.diskGb ? [tenth + 2, why] : [needs.diskGb, '']
  if (free < least)
    throw new Error(
      `the disk of ${folder} has ${free.toFixed(1)} GB left, and a run takes ${least.toFixed(1)}${more}: make room, or have it on another disk (XDG_STATE_HOME)`,
    )
}

/** Errors: who has the addresses that the node needs. */
export async function requireAddresses(): Promise<void> {
  const { host, pods, services, vms } = addresses
  const ranges = [host, pods, services, vms].map((range) => range.split('.').slice(0, 2).join('.'))
  const { stdout } = await run('ip', ['-4', 'route'])
  const taken = stdout.split('\n').filter((line) => ranges.some((range) => line.startsWith(`${range}.`)))
  if (taken.length > 0) throw new Error(`this machine routes ${taken.join('; ')}, and the node needs these addresses`)
}

async function isThere(file: string): Promise<boolean> {
  const folders = file.includes('/') ? [''] : [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const are = folders.map((folder) =>
    access(join(folder, file)).then(
      () => true,
      () => false,
    ),
  )
  return (await Promise.all(are)).some(Boolean)
}

/** What there is on this machine of what a node makes: interfaces and bridges, routes, mounts, cgroups, processes (shims too), and namespaces of processes. */
export async function traces(): Promise<readonly string[]> {
  const [links, routes, mounts] = await Promise.all([
    run('ip', ['-oneline', 'link']),
    run('ip', ['-4', 'route']),
    readFile('/proc/self/mountinfo', 'utf8'),
  ])
  const mounted = mounts.split('\n').map((line) => line.split(' ')[4] ?? '')
  const pids = new Set([...(await processesInside()), ...(await processesOf(nodeServers))])
  const ofProcesses = await Promise.all([...pids].map(tracesOf))
  return [
    ...links.stdout.split('\n').map((line) => `interface ${/^\d+: ([^:@]+)/.exec(line)?.[1] ?? ''}`),
    ...routes.stdout.split('\n').map((line) => `route ${line.trim()}`),
    ...mounted.map((path) => `mount ${path}`),
    ...cgroupFolders().map((path) => `cgroup ${path}`),
    ...new Set(ofProcesses.flat()),
  ]
}

/** Processes, of any cgroup, that run a binary of the cache of servers. */
async function processesOf(names: readonly ServerName[]): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const files = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/exe`).catch(() => '')))
  const folders = names.map((name) => join(cacheFolder('servers', name), '/'))
  return pids.filter((_, index) => folders.some((folder) => files[index]?.startsWith(folder))).map(Number)
}

/** A process and its namespaces; none of one that has ended. */
async function tracesOf(pid: number): Promise<readonly string[]> {
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined)
  if (name === undefined) return []
  const own = await namespacesOf('self')
  const namespaces = (await namespacesOf(pid)).filter((one) => !own.includes(one))
  return [`process ${pid} ${name.trim()}`, ...namespaces.map((one) => `namespace ${one}`)]
}

function namespacesOf(pid: number | 'self'): Promise<readonly string[]> {
  const kinds = ['net', 'pid', 'mnt', 'uts', 'cgroup']
  return Promise.all(kinds.map((kind) => readlink(`/proc/${pid}/ns/${kind}`))).catch(() => [])
}

/** Removes the cables of nodes whose processes are gone; the kernel has removed those whose namespaces are gone too. */
export async function removeCables(): Promise<void> {
  const { stdout } = await run('ip', ['-oneline', 'link'])
  for (const [, name = ''] of stdout.matchAll(new RegExp(`^\\d+: (${cable}[^:@]*)`, 'gm')))
    await run('ip', ['link', 'delete', name]).catch(() => undefined)
}
