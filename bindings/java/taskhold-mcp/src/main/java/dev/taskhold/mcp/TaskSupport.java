package dev.taskhold.mcp;

/** Whether a tool needs a client that knows tasks. */
public enum TaskSupport {
    /** A task for clients that declared the extension; the others wait for the result of the call. */
    OPTIONAL,

    /** A task always: clients that did not declare the extension are refused with the error -32021. */
    REQUIRED
}
