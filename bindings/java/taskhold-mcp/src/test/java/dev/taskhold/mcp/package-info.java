@NullMarked
package dev.taskhold.mcp;

import org.jspecify.annotations.NullMarked;
