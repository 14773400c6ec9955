import type { FastifyInstance } from 'fastify'
import { strictRecord, text } from '../../../../api/shapes/shape.ts'
import { isWrong } from './admin-settings.ts'
import { parseScenario, ScenarioError } from './scenario.ts'
import type { ScenarioPlayer } from './scenario-player.ts'

/** Starts, reports and stops a scenario. */
export function registerAdminScenario(app: FastifyInstance, player: ScenarioPlayer): void {
  app.get('/admin/scenario', () => player.steps)
  app.post<{ Body: { readonly yaml: string } }>('/admin/scenario', (request, reply) => {
    if (isWrong(request.body, strictRecord({ yaml: text }, ['yaml']), reply)) return reply
    try {
      player.play(parseScenario(request.body.yaml, 'yaml'))
    } catch (error) {
      if (error instanceof ScenarioError) return reply.code(400).send({ error: error.message })
      throw error
    }
    return reply.code(204).send()
  })
  app.delete('/admin/scenario', (_request, reply) => {
    player.stop()
    return reply.code(204).send()
  })
}
