// The cgroups of a real node. All that it runs is in one of them, so that it is found, and ended, whatever has become of the command.
import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cgroup } from './addresses.ts'

const mount = '/sys/fs/cgroup'
/** Version 2 has one tree, version 1 one for each controller. */
const isUnified = existsSync(join(mount, 'cgroup.controllers'))
const trees = isUnified ? [mount] : globSync('*/cgroup.procs', { cwd: mount }).map((file) => join(mount, file, '..'))
/** Any tree that each process is moved in. */
const moved = isUnified ? mount : join(mount, 'cpu')

/** For the containers of pods, and for the node's own processes and the servers. */
export const groups = { pods: `${cgroup}/pods`, servers: `${cgroup}/servers` } as const

/**
 * Shares of the CPU, of which each process of this machine that is in no group has 1024. With as much all pods together would get what one other process
 * gets, and their probes fail; with twice as much as the servers they starve the API server.
 */
const shares = { [cgroup]: 12_288, [groups.pods]: 4096, [groups.servers]: 8192 } as const

export async function makeCgroups(): Promise<void> {
  for (const [group, share] of Object.entries(shares))
    for (const tree of trees) {
      const folder = join(tree, group)
      await mkdir(folder, { recursive: true })
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (!isUnified && existsSync(join(folder, file)))
          await writeFile(join(folder, file), await readFile(join(folder, '..', file)))
      if (existsSync(join(folder, 'cpu.shares'))) await writeFile(join(folder, 'cpu.shares'), String(share))
      if (existsSync(join(folder, 'cpu.weight')))
        await writeFile(join(folder, 'cpu.weight'), String(Math.round(share / 10.24)))
      if (isUnified && group === cgroup)
        await writeFile(join(folder, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids +io')
    }
}

const serversFile = join(moved, groups.servers, 'cgroup.procs')

/** A command that joins the servers before it starts anything itself. */
export function amongServers(command: readonly string[]): {
  readonly command: string
  readonly args: readonly string[]
} {
  return { command: 'sh', args: ['-c', 'echo $$ > "$0" && exec "$@"', serversFile, ...command] }
}

/** Moves a process, and what it starts from then on, among the servers. */
export async function moveToServers(pid: number): Promise<void> {
  await writeFile(serversFile, String(pid))
}

/** Processes that are in one of the groups. */
export async function processesInside(): Promise<readonly number[]> {
  const files = globSync(`${moved}/${cgroup}/**/cgroup.procs`)
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))
  return texts.flatMap((text) => text.split('\n').filter(Boolean).map(Number))
}

/** Folders of the groups, the innermost first. */
export function cgroupFolders(): readonly string[] {
  return trees
    .flatMap((tree) => globSync(`${tree}/${cgroup}{,/**/}`))
    .filter((path) => existsSync(join(path, 'cgroup.procs')))
    .toSorted((one, other) => other.length - one.length)
}

/** Ends what is inside, and removes the groups. Errors: a process does not end. */
export async function removeCgroups(): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const pids = await processesInside()
    if (pids.length === 0) break
    if (Date.now() > deadline) throw new Error(`processes ${pids.join(', ')} in the cgroup ${cgroup} do not end`)
    for (const pid of pids) kill(pid)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  for (const folder of cgroupFolders()) await rmdir(folder).catch(() => undefined)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
