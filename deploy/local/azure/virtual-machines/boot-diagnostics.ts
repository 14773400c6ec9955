import { createHmac } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { ArmDeps } from '../server/arm-deps.ts'
import { resourceNotFound } from '../server/arm-error.ts'
import type { ArmRequest } from '../server/arm-request.ts'
import type { Machine } from './machine.ts'

const path =
  '/subscriptions/:subscription/resourceGroups/:group/providers/Microsoft.Compute/virtualMachines/:name/retrieveBootDiagnosticsData'

const defaultMinutes = 120

/** Boot diagnostics: links to a VM's serial log, which need no token and end, as links with a shared access signature do. */
export function registerBootDiagnostics(app: FastifyInstance, { config, machines, newId }: ArmDeps): void {
  const key = newId()
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url')

  app.post(path, (request: ArmRequest) => {
    const { name = '' } = request.params
    const machine = machines.get(name)
    if (machine === undefined)
      throw resourceNotFound('Microsoft.Compute/virtualMachines', name, config.nodeResourceGroup)
    const minutes = Number(request.query['sasUriExpirationTimeInMinutes'] ?? defaultMinutes)
    const end = new Date(Date.now() + minutes * 60_000).toISOString()
    const link = (file: string) => {
      const url = new URL(`/bootdiagnostics/${machine.vmId}/${file}`, `https://${request.host}`)
      url.searchParams.set('se', end)
      url.searchParams.set('sig', sign(`${machine.vmId}/${file}/${end}`))
      return url.href
    }
    return {
      consoleScreenshotBlobUri: link('screenshot.bmp'),
      serialConsoleLogBlobUri: link('serialconsole.log'),
    }
  })

  app.get<{ Params: { vmId: string; file: string }; Querystring: { se?: string; sig?: string } }>(
    '/bootdiagnostics/:vmId/:file',
    (request, reply) => {
      const { vmId, file } = request.params
      const { se = '', sig = '' } = request.query
      if (sig !== sign(`${vmId}/${file}/${se}`) || !(Date.parse(se) > Date.now()))
        return reply.code(403).send('AuthenticationFailed: the signature is wrong or has expired.')
      const machine = machines.all.find((one) => one.vmId === vmId)
      if (machine === undefined || file !== 'serialconsole.log')
        return reply.code(404).send('BlobNotFound: The specified blob does not exist.')
      return reply.type('text/plain').send(serialLog(machine))
    },
  )
}

/** What the console of a VM shows: kernel, cloud-init, and how provisioning the node went. */
function serialLog(machine: Machine): string {
  const { failure, state, power, joins, boot, body, joined, size } = machine
  const host = body.properties.osProfile?.computerName ?? machine.name
  if (failure !== undefined || state === 'Creating') return ''
  const lines = [
    `[    0.000000] Linux version 6.8.0-azure (simulated) ${size.vCpus} CPUs, ${size.memoryGib} GiB`,
    `[    4.211000] cloud-init[1]: ${host}: modules:config and boothooks run`,
  ]
  if (!joins) return [...lines, `[    5.000000] ${host}: kubelet.service: never started`, ''].join('\n')
  if (boot !== undefined) {
    lines.push(`[   12.000000] aks-node-controller: provisioning ended with exit code ${boot.exitCode}`)
    if (boot.output !== '') lines.push(...boot.output.split('\n').map((line) => `[   12.000000] ${line}`))
  }
  if (joined === true) lines.push(`[   15.000000] kubelet: registered node ${host.toLowerCase()}`)
  if (power !== 'running') lines.push(`[   99.000000] systemd: the VM is ${power}`)
  return [...lines, `${host} login: `, ''].join('\n')
}
