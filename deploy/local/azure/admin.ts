import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ArmDeps } from './arm.ts'
import type { Timing } from './config.ts'
import type { Fault } from './faults.ts'

/** What tests and operators of the simulator use: state, faults, and what happens to VMs. No Azure client sees it. */
export function registerAdmin(
  app: FastifyInstance,
  { config, machines, lifecycle, faults, calls, journal }: ArmDeps,
): void {
  app.get('/admin/state', () => ({
    virtualMachines: machines.all.map(({ name, state, power, timeCreated, body }) => ({
      name,
      state,
      power,
      timeCreated,
      size: body.properties.hardwareProfile.vmSize,
      zone: body.zones?.[0] ?? '0',
      priority: body.properties.priority ?? 'Regular',
      tags: body.tags ?? {},
    })),
    networkInterfaces: machines.all.flatMap(({ body }) =>
      (body.properties.networkProfile?.networkInterfaceConfigurations ?? []).map(({ name }) => name),
    ),
    disks: machines.all.flatMap(({ body }) => body.properties.storageProfile?.osDisk?.name ?? []),
  }))
  app.get('/admin/calls', () => Object.fromEntries(calls))
  app.get('/admin/journal', () => journal)
  app.post<{ Body: Timing }>('/admin/timing', (request, reply) => {
    Object.assign(config, request.body)
    return reply.code(204).send()
  })
  app.get('/admin/faults', () => faults.list)
  app.post<{ Body: Fault }>('/admin/faults', (request, reply) => {
    faults.add(request.body)
    return reply.code(204).send()
  })
  app.delete('/admin/faults', (_request, reply) => {
    faults.clear()
    return reply.code(204).send()
  })
  app.post<{ Params: { name: string; action: string } }>('/admin/vms/:name/:action', (request, reply): FastifyReply => {
    const machine = machines.get(request.params.name)
    if (machine === undefined) return reply.code(404).send({ error: `no VM ${request.params.name}` })
    switch (request.params.action) {
      case 'evict':
      case 'delete':
        lifecycle.delete(machine)
        break
      case 'stop':
        lifecycle.power(machine, 'stopped')
        break
      case 'freeze':
        lifecycle.power(machine, 'frozen')
        break
      default:
        return reply
          .code(400)
          .send({ error: `unknown action "${request.params.action}"; use evict, delete, stop or freeze` })
    }
    return reply.code(204).send()
  })
}
