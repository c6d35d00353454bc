// Servers that import the stores: they fit where the SDKs take one.

import { TaskState } from '@a2a-js/sdk';
import { type TaskStore as A2ATaskStore, ServerCallContext } from '@a2a-js/sdk/server';
import type { TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { DurableTaskStore as AgentStore } from 'taskhold/a2a';
import { DurableTaskStore } from 'taskhold/mcp1';

const taskStore: TaskStore = await DurableTaskStore.open('memory:');
const server = new McpServer({ name: 'consumer', version: '1' }, { capabilities: { tasks: {} }, taskStore });
const agent: A2ATaskStore = await AgentStore.open();
const loaded = await agent.load('unknown', new ServerCallContext());
if (loaded === undefined && TaskState.TASK_STATE_WORKING === 2 && server.isConnected() === false) console.log('stores');
